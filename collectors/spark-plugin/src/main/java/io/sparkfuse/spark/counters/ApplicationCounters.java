package io.sparkfuse.spark.counters;

import io.sparkfuse.contracts.ExecutorSample;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Counts the executors of the application and the time of its tasks. Guarded by the lock of its
 * {@link StageRegistry}; all times come from the registry's monotonic clock.
 */
final class ApplicationCounters {
  private static final int MAX_EXECUTORS = 20_000;
  private static final long LOSS_WINDOW_MS = 600_000;
  private static final double CORE_HOUR_MS = 3_600_000;

  /** Maximum age of a sample that is used; executors send a sample every few seconds. */
  private static final long SAMPLE_MS = 30_000;

  /**
   * Reasons that Spark and the cluster managers give for the loss of an executor whose process
   * ended or is silent.
   */
  private static final Pattern LOST =
      Pattern.compile(
          "exit code|exited|exit status|heartbeat|timed out|disassociated|OOM|out of memory",
          Pattern.CASE_INSENSITIVE);

  /** Reasons for the removal of an executor that Spark or an operator asked to stop. */
  private static final Pattern RELEASED =
      Pattern.compile(
          "killed by driver|decommission|idle|preempt|excluded", Pattern.CASE_INSENSITIVE);

  private static final class Executor {
    private final int cores;
    private final long addedMs;
    private ExecutorSample sample;
    private long sampledMs;

    private Executor(int cores, long addedMs) {
      this.cores = cores;
      this.addedMs = addedMs;
    }
  }

  private final Map<String, Executor> executors = new HashMap<>();
  private final ArrayDeque<Long> lostMs = new ArrayDeque<>();
  private final long startedMs;
  private long removedCoreMs;
  private long peak;
  private long lastSuccessMs;
  private double pricePerCoreMs;
  private Long allowedMs;

  ApplicationCounters(long startedMs) {
    this.startedMs = startedMs;
    this.lastSuccessMs = startedMs;
  }

  void plan(double pricePerCoreHour, Long untilDeadlineMs) {
    pricePerCoreMs = pricePerCoreHour / CORE_HOUR_MS;
    allowedMs = untilDeadlineMs;
  }

  /**
   * Adds an executor. Returns false, and does not count the executor, if there are too many
   * executors.
   */
  boolean added(String id, int cores, long nowMs) {
    if (executors.size() >= MAX_EXECUTORS) {
      return false;
    }
    executors.putIfAbsent(id, new Executor(cores, nowMs));
    peak = Math.max(peak, executors.size());
    return true;
  }

  void removed(String id, String reason, long nowMs) {
    Executor executor = executors.remove(id);
    if (executor == null) {
      return;
    }
    removedCoreMs += executor.cores * (nowMs - executor.addedMs);
    if (LOST.matcher(reason).find() && !RELEASED.matcher(reason).find()) {
      lostMs.addLast(nowMs);
    }
    if (lostMs.size() > MAX_EXECUTORS) {
      lostMs.removeFirst();
    }
  }

  void sampled(ExecutorSample sample, long nowMs) {
    Executor executor = executors.get(sample.getExecutorId());
    if (executor != null) {
      executor.sample = sample;
      executor.sampledMs = nowMs;
    }
  }

  void taskSucceeded(long nowMs) {
    lastSuccessMs = nowMs;
  }

  /** Returns all counters by name. */
  Map<String, Long> values(long nowMs) {
    long coreMs = removedCoreMs;
    for (Executor executor : executors.values()) {
      coreMs += executor.cores * (nowMs - executor.addedMs);
    }
    Map<String, Long> values = new LinkedHashMap<>();
    values.put("application_elapsed_ms", nowMs - startedMs);
    values.put("application_core_ms", coreMs);
    if (pricePerCoreMs > 0) {
      values.put("application_cost", (long) (coreMs * pricePerCoreMs));
    }
    if (allowedMs != null) {
      values.put("application_late_ms", nowMs - startedMs - allowedMs);
      values.put("application_late_ratio", (nowMs - startedMs) / allowedMs);
    }
    values.put("application_lost_executors", lost(nowMs));
    values.put("application_peak_executors", peak);
    if (peak > 0) {
      values.put("application_lost_ratio", lost(nowMs) / peak);
    }
    values.put("application_since_success_ms", nowMs - lastSuccessMs);
    Long gcPercent = gcPercent(nowMs);
    if (gcPercent != null) {
      values.put("application_gc_percent", gcPercent);
    }
    return values;
  }

  private long lost(long nowMs) {
    for (Iterator<Long> each = lostMs.iterator(); each.hasNext(); ) {
      if (nowMs - each.next() < LOSS_WINDOW_MS) {
        break;
      }
      each.remove();
    }
    return lostMs.size();
  }

  /**
   * Returns the share of time in garbage collection in percent, or null if it is unknown for any
   * executor.
   */
  private Long gcPercent(long nowMs) {
    long gcMs = 0;
    long intervalMs = 0;
    for (Executor executor : executors.values()) {
      if (executor.sample == null || nowMs - executor.sampledMs > SAMPLE_MS) {
        return null;
      }
      gcMs += executor.sample.getGcDeltaMs();
      intervalMs += executor.sample.getIntervalMs();
    }
    return intervalMs <= 0 ? null : gcMs * 100 / intervalMs;
  }
}
