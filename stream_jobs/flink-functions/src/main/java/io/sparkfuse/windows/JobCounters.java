package io.sparkfuse.windows;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counters of this JVM, published as a system property at the end of each window.
 *
 * <p>A system property is the only place that the class loaders of the launcher and of the job
 * share.
 */
public final class JobCounters {
  /**
   * Records read, records that could not be decoded, queries dropped because too many were open,
   * and the end of the last window [ms since epoch], separated by spaces.
   */
  static final String PROPERTY = "sparkfuse.windows.counters";

  private static final LongAdder RECORDS = new LongAdder();
  private static final LongAdder UNDECODABLE = new LongAdder();
  private static final LongAdder QUERIES_DROPPED = new LongAdder();
  private static final AtomicLong LAST_WINDOW_END_MS = new AtomicLong();

  private JobCounters() {}

  /** Counts a record that was read. */
  public static void record() {
    RECORDS.increment();
  }

  /** Counts a record that could not be decoded. */
  public static void undecodable() {
    UNDECODABLE.increment();
  }

  /** Adds queries that were dropped from the state of their application. */
  public static void queriesDropped(int count) {
    QUERIES_DROPPED.add(count);
  }

  /**
   * Called for each window of each application; publishes the counters if no later or equal end of
   * a window was published before.
   */
  public static void windowSent(long endMs) {
    if (LAST_WINDOW_END_MS.getAndAccumulate(endMs, Math::max) < endMs) {
      System.setProperty(
          PROPERTY,
          RECORDS.sum() + " " + UNDECODABLE.sum() + " " + QUERIES_DROPPED.sum() + " " + endMs);
    }
  }
}
