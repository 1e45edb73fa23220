package io.sparkfuse.spark.safety;

import java.util.ArrayDeque;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;

/**
 * Judges whether this JVM is so badly off that collecting must not make it worse: heap left after a
 * collection, share of time in collections, time in callbacks.
 */
public final class LoadMonitor {
  /** Where the three come from. */
  public static final class Gauges {
    final DoubleSupplier freeHeapShare;
    final LongSupplier gcMs;
    final LongSupplier callbackNs;

    /**
     * Share of the heap that was free after the last collection (0 to 1), time in collections since
     * the JVM began (ms), and what a callback cost since it was asked last (ns; 0 when they were
     * too few to say).
     */
    public Gauges(DoubleSupplier freeHeapShare, LongSupplier gcMs, LongSupplier callbackNs) {
      this.freeHeapShare = freeHeapShare;
      this.gcMs = gcMs;
      this.callbackNs = callbackNs;
    }
  }

  /** Over how long the share of collections is taken: one long pause is no state. */
  static final long WINDOW_MS = 60_000;

  /** Before so long nothing is said about it: a JVM that starts collects often. */
  static final long MIN_WINDOW_MS = 20_000;

  private final Gauges gauges;
  private final double minFreeHeap;
  private final double maxGcShare;
  private final long callbackBudgetNs;
  private final ArrayDeque<long[]> collections = new ArrayDeque<>();

  /** Limits: shares from 0 to 1, and nanoseconds. */
  public LoadMonitor(Gauges gauges, double minFreeHeap, double maxGcShare, long callbackBudgetNs) {
    this.gauges = gauges;
    this.minFreeHeap = minFreeHeap;
    this.maxGcShare = maxGcShare;
    this.callbackBudgetNs = callbackBudgetNs;
  }

  /** heap, gc or callbacks, or null when all is well. */
  synchronized String trouble(long nowMs) {
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

  /** What was before does not count any more. */
  synchronized void forget() {
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
