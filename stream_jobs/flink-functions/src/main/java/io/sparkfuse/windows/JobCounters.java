package io.sparkfuse.windows;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts what passes through this JVM and leaves it, window by window, as a system property.
 *
 * <p>A property because it is the one place that the launcher's and the job's class loaders share.
 */
public final class JobCounters {
  /** Records read, records that are no facts, end of the last window [ms since epoch]. */
  static final String PROPERTY = "sparkfuse.windows.counters";

  private static final LongAdder RECORDS = new LongAdder();
  private static final LongAdder UNDECODABLE = new LongAdder();
  private static final AtomicLong LAST_WINDOW_END_MS = new AtomicLong();

  private JobCounters() {}

  public static void record() {
    RECORDS.increment();
  }

  public static void undecodable() {
    UNDECODABLE.increment();
  }

  /** Called for each application's window; only the first of a new window end is told. */
  public static void windowSent(long endMs) {
    if (LAST_WINDOW_END_MS.getAndAccumulate(endMs, Math::max) < endMs) {
      System.setProperty(PROPERTY, RECORDS.sum() + " " + UNDECODABLE.sum() + " " + endMs);
    }
  }
}
