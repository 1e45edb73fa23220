package io.sparkfuse.spark;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;

/** What is really held on the heap. */
final class RetainedHeap {
  private RetainedHeap() {}

  /** Bytes that are still in use after collections stopped to find garbage. */
  static long retained() {
    long before = Long.MAX_VALUE;
    long now = used();
    for (int i = 0; i < 5 && now < before - 100_000; i++) {
      before = now;
      now = used();
    }
    return Math.min(before, now);
  }

  /** Lets the class path be read to its end: the tables of its jars are not the plugin's memory. */
  static void openClassPath() {
    try {
      Class.forName("no.such.Class");
    } catch (ClassNotFoundException sought) { // in all of the jars
    }
  }

  /** As it was when the collection ended: other threads fill the heap again at once. */
  private static long used() {
    System.gc();
    long used = 0;
    for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
      used += pool.getType() == MemoryType.HEAP ? pool.getCollectionUsage().getUsed() : 0;
    }
    return used;
  }
}
