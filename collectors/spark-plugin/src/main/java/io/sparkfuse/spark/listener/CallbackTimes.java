package io.sparkfuse.spark.listener;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Locale;

/**
 * Measures the time of listener callbacks: the wall time of all callbacks, and the CPU time of one
 * in {@link #CPU_EVERY}. On a busy host a callback that needs microseconds can wait milliseconds
 * for a core.
 *
 * <p>One thread runs all callbacks; any thread may read the results.
 */
public final class CallbackTimes {
  static final int CPU_EVERY = 4;

  /**
   * Minimum number of callbacks for computing a cost; the first callbacks are slow because they
   * load classes.
   */
  static final long MIN = 1_000;

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private final TimeHistogram wall = new TimeHistogram();
  private final TimeHistogram cpu = new TimeHistogram();
  private final boolean cpuKnown = THREADS.isCurrentThreadCpuTimeSupported();
  private long calls;
  private long startNs;
  private long startCpuNs;
  private volatile long longestNs;

  /** Starts the measurement of a callback. */
  void begin() {
    calls++;
    startCpuNs = measuresCpu() ? THREADS.getCurrentThreadCpuTime() : 0;
    startNs = System.nanoTime();
  }

  /** Ends the measurement of a callback. */
  void end() {
    long nanos = System.nanoTime() - startNs;
    wall.add(nanos);
    if (nanos > longestNs) {
      longestNs = nanos;
    }
    if (measuresCpu()) {
      cpu.add(THREADS.getCurrentThreadCpuTime() - startCpuNs);
    }
  }

  private boolean measuresCpu() {
    return cpuKnown && calls % CPU_EVERY == 0;
  }

  /** Returns the quantile {@code share} (0 to 1) of all wall times, in ns. */
  public long quantile(double share) {
    return wall.quantile(share);
  }

  /** Returns the longest wall time in ns. */
  public long longest() {
    return longestNs;
  }

  /** Returns count, quantiles and maximum in one line, for the log. */
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
   * Returns the cost in ns of the callbacks since the previous call of this method: the 99th
   * percentile of CPU time or the median of wall time, whichever is larger. Wall time is included
   * because CPU time does not show that a callback waits. Returns 0 if fewer than {@link #MIN}
   * callbacks were measured.
   */
  public long cost() {
    return Math.max(cpu.windowQuantile(0.99, MIN), wall.windowQuantile(0.5, MIN));
  }
}
