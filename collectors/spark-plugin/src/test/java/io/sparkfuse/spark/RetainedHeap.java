package io.sparkfuse.spark;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;

/** Measures the heap that is still in use after garbage collection. */
final class RetainedHeap {
  private RetainedHeap() {}

  /** Returns the bytes in use after repeated collections. */
  static long retained() {
    long before = Long.MAX_VALUE;
    long now = used();
    for (int i = 0; i < 5 && now < before - 100_000; i++) {
      before = now;
      now = used();
    }
    return Math.min(before, now);
  }

  /**
   * Opens all jars of the class path, so that their file tables do not count as memory of the
   * plugin.
   */
  static void openClassPath() {
    try {
      Class.forName("no.such.Class");
    } catch (ClassNotFoundException sought) { // searched in all jars
    }
  }

  /**
   * Returns the heap that was in use at the end of a collection. The heap in use now would be
   * larger, because other threads have allocated since.
   */
  private static long used() {
    System.gc();
    long used = 0;
    for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
      used += pool.getType() == MemoryType.HEAP ? pool.getCollectionUsage().getUsed() : 0;
    }
    return used;
  }
}
