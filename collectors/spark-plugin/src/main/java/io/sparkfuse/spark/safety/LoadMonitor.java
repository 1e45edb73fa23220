package io.sparkfuse.spark.safety;

import java.util.ArrayDeque;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;

/**
 * Decides whether this JVM is overloaded, by its free heap after a collection, its share of time in
 * garbage collection, and the time of callbacks.
 */
public final class LoadMonitor {
  /** Sources of the three values. */
  public static final class Gauges {
    final DoubleSupplier freeHeapShare;
    final LongSupplier gcMs;
    final LongSupplier callbackNs;

    /**
     * Creates the sources.
     *
     * @param freeHeapShare share of the heap that was free after the last collection, 0 to 1
     * @param gcMs pause time of garbage collection since the JVM started, in ms
     * @param callbackNs cost of a callback since the previous call, in ns; 0 if unknown
     */
    public Gauges(DoubleSupplier freeHeapShare, LongSupplier gcMs, LongSupplier callbackNs) {
      this.freeHeapShare = freeHeapShare;
      this.gcMs = gcMs;
      this.callbackNs = callbackNs;
    }
  }

  /**
   * The share of time in garbage collection is computed over this window, so that one long pause
   * does not count as overload.
   */
  static final long WINDOW_MS = 60_000;

  /**
   * Minimum length of the window before the share of garbage collection is used, because a JVM
   * collects often while it starts.
   */
  static final long MIN_WINDOW_MS = 20_000;

  private final Gauges gauges;
  private final double minFreeHeap;
  private final double maxGcShare;
  private final long callbackBudgetNs;
  private final ArrayDeque<long[]> collections = new ArrayDeque<>();

  /**
   * Creates a monitor with its limits; the shares are between 0 and 1, and the budget of a callback
   * is in ns.
   */
  public LoadMonitor(Gauges gauges, double minFreeHeap, double maxGcShare, long callbackBudgetNs) {
    this.gauges = gauges;
    this.minFreeHeap = minFreeHeap;
    this.maxGcShare = maxGcShare;
    this.callbackBudgetNs = callbackBudgetNs;
  }

  /** Returns the name of an exceeded limit (heap, gc or callbacks), or null. */
  synchronized String overload(long nowMs) {
    long costNs = gauges.callbackNs.getAsLong();
    boolean gc = gcShare(nowMs) > maxGcShare;
    if (gauges.freeHeapShare.getAsDouble() < minFreeHeap) {
      return "heap";
    }
    if (gc) {
      return "gc";
    }
    return costNs > callbackBudgetNs ? "callbacks" : null;
  }

  /** Discards the measurements so far. */
  synchronized void reset() {
    collections.clear();
    gauges.callbackNs.getAsLong();
  }

  private double gcShare(long nowMs) {
    long[] now = {nowMs, gauges.gcMs.getAsLong()};
    collections.add(now);
    while (nowMs - collections.peek()[0] > WINDOW_MS) {
      collections.poll();
    }
    long[] first = collections.peek();
    long elapsedMs = nowMs - first[0];
    return elapsedMs < MIN_WINDOW_MS ? 0 : (double) (now[1] - first[1]) / elapsedMs;
  }
}
