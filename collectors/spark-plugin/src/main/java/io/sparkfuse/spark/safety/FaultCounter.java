package io.sparkfuse.spark.safety;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts the exceptions and errors in a part of the plugin, and switches the part off after too
 * many of them.
 *
 * <p>An {@code Error} that leaves a listener stops the user's SparkContext, so every entry point
 * catches Throwable and counts the fault here.
 */
public final class FaultCounter {
  /** After this many faults within {@link #WINDOW_MS} the part is switched off. */
  public static final int MAX = 1_000;

  /**
   * Faults that are further apart than this time do not add up: a streaming application runs for
   * weeks, and rare faults are harmless.
   */
  static final long WINDOW_MS = 3_600_000;

  private final String part;
  private final int most;
  private final AtomicLong count = new AtomicLong();

  /**
   * Times of the last faults, as a ring buffer. It is allocated early, because the heap may be full
   * when faults occur.
   */
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

  /** Counts one fault. Never throws, even if memory is exhausted. */
  public void caught(Throwable fault) {
    try {
      caught(fault, SteadyClock.ms());
    } catch (Throwable ignored) { // nothing else can be done
    }
  }

  void caught(Throwable fault, long nowMs) {
    count.incrementAndGet();
    if (isTheLast(nowMs)) {
      PluginLog.warn("Sparkfuse: " + part + " is switched off after " + most + " faults");
    } else {
      PluginLog.warnOncePerMinute(part + " fault", fault);
    }
  }

  private synchronized boolean isTheLast(long nowMs) {
    when[(int) (kept++ % most)] = nowMs;
    boolean many = kept >= most && nowMs - when[(int) (kept % most)] < WINDOW_MS;
    boolean last = many && !off;
    off |= last;
    return last;
  }

  /** Returns whether the part is still switched on. */
  public boolean on() {
    return !off;
  }

  /** Returns the number of faults so far. */
  public long count() {
    return count.get();
  }
}
