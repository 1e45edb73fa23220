package io.sparkfuse.spark.listener;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Locale;

/**
 * How long callbacks take: all by the clock, and one in {@link #CPU_EVERY} by the CPU it used too,
 * because on a busy machine a callback of microseconds may wait for milliseconds to go on.
 *
 * <p>Callbacks come from one thread; the figures may be read by any.
 */
public final class CallbackTimes {
  static final int CPU_EVERY = 4;

  /** Fewer say nothing: the first ones load classes. */
  static final long MIN = 1_000;

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private final TimeHistogram wall = new TimeHistogram();
  private final TimeHistogram cpu = new TimeHistogram();
  private final boolean cpuKnown = THREADS.isCurrentThreadCpuTimeSupported();
  private long calls;
  private long beganNs;
  private long beganCpuNs;
  private volatile long longestNs;

  /** A callback begins. */
  void begin() {
    calls++;
    beganCpuNs = measuresCpu() ? THREADS.getCurrentThreadCpuTime() : 0;
    beganNs = System.nanoTime();
  }

  /** It ends. */
  void end() {
    long nanos = System.nanoTime() - beganNs;
    wall.add(nanos);
    if (nanos > longestNs) {
      longestNs = nanos;
    }
    if (measuresCpu()) {
      cpu.add(THREADS.getCurrentThreadCpuTime() - beganCpuNs);
    }
  }

  private boolean measuresCpu() {
    return cpuKnown && calls % CPU_EVERY == 0;
  }

  /** The quantile of all times by the clock (ns). */
  public long quantile(double share) {
    return wall.quantile(share);
  }

  /** The longest time by the clock (ns). */
  public long longest() {
    return longestNs;
  }

  /** The figures in one line, for the log. */
  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "%d callbacks, p99 %d ns, p99.9 %d ns, longest %d ns",
        calls,
        quantile(0.99),
        quantile(0.999),
        longestNs);
  }

  /**
   * What a callback costs since it was asked last (ns): the 99th percentile by CPU or the median by
   * the clock, which shows one that waits, whichever is longer; 0 while they are too few.
   */
  public long cost() {
    return Math.max(cpu.windowQuantile(0.99, MIN), wall.windowQuantile(0.5, MIN));
  }
}
