package io.sparkfuse.spark.safety;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts what was thrown inside the plugin and switches a part of it off after too much of it.
 *
 * <p>An {@code Error} that leaves a listener stops the user's SparkContext, so every entry catches
 * Throwable and tells it to this class.
 */
public final class FaultCounter {
  /**
   * After so many faults within {@link #WINDOW_MS} the part is off: it would only go on failing.
   */
  public static final int MAX = 1_000;

  /** A race now and then, over the weeks that a streaming application runs, is no failing part. */
  static final long WINDOW_MS = 3_600_000;

  private final String part;
  private final int most;
  private final AtomicLong count = new AtomicLong();

  /** When the last faults were caught, in a ring; made at once, for later there may be no heap. */
  private final long[] when;

  private long kept;
  private volatile boolean off;

  public FaultCounter(String part) {
    this(part, MAX);
  }

  public FaultCounter(String part, int most) {
    this.part = part;
    this.most = most;
    this.when = new long[most];
  }

  /** Counts one fault; never throws, not even when memory is out. */
  public void caught(Throwable fault) {
    try {
      caught(fault, SteadyClock.ms());
    } catch (Throwable ignored) { // nothing is left that could be done about it
    }
  }

  void caught(Throwable fault, long nowMs) {
    count.incrementAndGet();
    if (isTheLast(nowMs)) {
      PluginLog.warn("Sparkfuse: " + part + " is switched off after " + most + " faults");
    } else {
      PluginLog.trouble(part + " fault", fault);
    }
  }

  private synchronized boolean isTheLast(long nowMs) {
    when[(int) (kept++ % most)] = nowMs;
    boolean many = kept >= most && nowMs - when[(int) (kept % most)] < WINDOW_MS;
    boolean last = many && !off;
    off |= last;
    return last;
  }

  /** Whether the part may go on. */
  public boolean on() {
    return !off;
  }

  /** FaultCounter so far. */
  public long count() {
    return count.get();
  }
}
