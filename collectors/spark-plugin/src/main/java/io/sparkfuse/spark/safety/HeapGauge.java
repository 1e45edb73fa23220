package io.sparkfuse.spark.safety;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;

/** What the JVM tells of its own heap; no call makes it collect. */
public final class HeapGauge {
  private HeapGauge() {}

  /**
   * The smallest share that was free after the last collection, over the pools that objects grow
   * old in; 1 before the first collection.
   */
  public static double freeShare() {
    double least = 1;
    for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
      boolean young = pool.getName().contains("Eden") || pool.getName().contains("Survivor");
      MemoryUsage usage =
          pool.getType() == MemoryType.HEAP && !young ? pool.getCollectionUsage() : null;
      if (usage != null && usage.getMax() > 0) {
        least = Math.min(least, 1 - (double) usage.getUsed() / usage.getMax());
      }
    }
    return least;
  }

  /** Time that collections stopped this JVM for since it began. */
  public static long gcMs() {
    long sum = 0;
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      String name = collector.getName();
      // These two count work that goes on beside the application.
      if (!name.contains("Concurrent") && !name.contains("Cycles")) {
        sum += Math.max(0, collector.getCollectionTime());
      }
    }
    return sum;
  }
}
