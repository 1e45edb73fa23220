package io.sparkfuse.spark.safety;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;

/** Reads how full the heap is, without triggering a collection. */
public final class HeapGauge {
  private HeapGauge() {}

  /**
   * Returns which share (0 to 1) of a memory pool was free after its last collection: the smallest
   * share of all pools except those of the young generation. Returns 1 before the first collection.
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

  /** Returns the total pause time of garbage collection since the JVM started, in ms. */
  public static long gcMs() {
    long sum = 0;
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      String name = collector.getName();
      // Collectors with these names work concurrently and do not pause the application.
      if (!name.contains("Concurrent") && !name.contains("Cycles")) {
        sum += Math.max(0, collector.getCollectionTime());
      }
    }
    return sum;
  }
}
