package io.sparkfuse.spark.listener;

import java.util.concurrent.atomic.AtomicLongArray;

/** A log-linear histogram of times: 8 buckets for each power of two, 12.5 % error. */
final class TimeHistogram {
  private static final int PARTS = 8;
  private final AtomicLongArray buckets = new AtomicLongArray(64 * PARTS);
  private long[] atLastWindow = new long[64 * PARTS];

  /** Adds one time in nanoseconds, without allocation or lock. */
  void add(long nanos) {
    long value = Math.max(PARTS, nanos);
    int power = 63 - Long.numberOfLeadingZeros(value);
    int part = (int) ((value >>> (power - 3)) & (PARTS - 1));
    buckets.incrementAndGet(power * PARTS + part);
  }

  /**
   * Returns the upper bound of the bucket that contains the quantile, or 0 if there are no times.
   */
  long quantile(double share) {
    return quantile(share, counts());
  }

  /**
   * Returns the quantile of the times in the current window, and starts a new window. If the window
   * has fewer than {@code least} times, returns 0 and continues the window.
   */
  synchronized long windowQuantile(double share, long least) {
    long[] now = counts();
    long[] window = new long[now.length];
    long total = 0;
    for (int i = 0; i < now.length; i++) {
      window[i] = now[i] - atLastWindow[i];
      total += window[i];
    }
    if (total < least) {
      return 0;
    }
    atLastWindow = now;
    return quantile(share, window);
  }

  private long[] counts() {
    long[] counts = new long[buckets.length()];
    for (int i = 0; i < counts.length; i++) {
      counts[i] = buckets.get(i);
    }
    return counts;
  }

  private static long quantile(double share, long[] counts) {
    long total = 0;
    for (long count : counts) {
      total += count;
    }
    long wanted = (long) Math.ceil(total * share);
    long seen = 0;
    for (int i = 0; i < counts.length && total > 0; i++) {
      seen += counts[i];
      if (seen >= wanted) {
        int power = i / PARTS;
        return (1L << power) + ((i % PARTS + 1L) << (power - 3));
      }
    }
    return 0;
  }
}
