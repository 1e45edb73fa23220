package io.sparkfuse.spark.listener;

import java.util.concurrent.atomic.AtomicLongArray;

/** Times of callbacks in a log-linear histogram: 8 buckets for each power of two, 12.5 % error. */
final class CallbackTimes {
  private static final int PARTS = 8;
  private final AtomicLongArray buckets = new AtomicLongArray(64 * PARTS);

  /** Adds one time in nanoseconds; no allocation, no lock. */
  void add(long nanos) {
    long value = Math.max(PARTS, nanos);
    int power = 63 - Long.numberOfLeadingZeros(value);
    int part = (int) ((value >>> (power - 3)) & (PARTS - 1));
    buckets.incrementAndGet(power * PARTS + part);
  }

  /** The upper edge of the bucket in which the quantile lies, 0 when there is none. */
  long quantile(double share) {
    long total = 0;
    for (int i = 0; i < buckets.length(); i++) {
      total += buckets.get(i);
    }
    long wanted = (long) Math.ceil(total * share);
    long seen = 0;
    for (int i = 0; i < buckets.length() && total > 0; i++) {
      seen += buckets.get(i);
      if (seen >= wanted) {
        int power = i / PARTS;
        return (1L << power) + ((i % PARTS + 1L) << (power - 3));
      }
    }
    return 0;
  }
}
