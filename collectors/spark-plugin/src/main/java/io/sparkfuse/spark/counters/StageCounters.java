package io.sparkfuse.spark.counters;

import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.TaskProgress;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Counts the work of one stage attempt in the driver. The counters have the column names of the
 * view stage_live.
 *
 * <p>Counts ended tasks with the metrics of their end event, and running tasks with the metrics of
 * their last progress report. Guarded by the lock of its {@link StageRegistry}.
 */
final class StageCounters {
  /** A task is moving if its counters changed within this time, in ms. */
  private static final long STALLED_MS = 60_000;

  private static final class Running {
    /**
     * Null until the first progress report of the task; most tasks end before they report progress.
     */
    TaskTotals totals;

    long ageMs;
    long stalledMs;

    /**
     * Time since the task last read or wrote. Until the first progress report it is 0, as if the
     * task were reading and writing now.
     */
    long sinceProgressMs;

    long spilledSinceProgressBytes;

    /** Time since the last spill of the task; null until the task spills. */
    Long sinceSpillMs;

    long cpuSinceProgressMs;

    /** Whether neither the task's counters nor its CPU time grow. */
    boolean idle;

    /**
     * Time at which the start or the last progress of the task arrived, by the registry's clock.
     */
    long seenMs;

    Running(long seenMs) {
      this.seenMs = seenMs;
    }
  }

  final int stageId;
  final int attempt;
  private final int tasks;
  private final long startedMs;
  private final Map<Long, Running> running = new HashMap<>();

  /** Number of running tasks beyond the limit, which are not stored. */
  private int unknown;

  private final TaskTotals finished = new TaskTotals();
  private final SameFailures failures = new SameFailures();
  private long longestSuccessMs;
  private long succeeded;
  private long failed;
  private long killed;
  private long lastFinishMs;
  private boolean ended;
  private boolean incomplete;

  /** Creates counters; {@code startedMs} and all other times are from one monotonic clock. */
  StageCounters(int stageId, int attempt, int tasks, long startedMs) {
    this.stageId = stageId;
    this.attempt = attempt;
    this.tasks = tasks;
    this.startedMs = startedMs;
    this.lastFinishMs = startedMs;
  }

  /**
   * Counts a started task. Returns whether the task was stored; {@code room} is false if the limit
   * is reached.
   */
  boolean taskStarted(long taskId, boolean room, long nowMs) {
    if (room) {
      return running.put(taskId, new Running(nowMs)) == null;
    }
    unknown++;
    return false;
  }

  void taskProgressed(TaskProgress progress, long nowMs) {
    Running task = running.get(progress.getTaskId());
    if (task != null) { // the task may have ended
      task.totals = TaskTotals.of(progress);
      task.ageMs = progress.getAgeMs();
      task.stalledMs = progress.getStalledMs();
      task.sinceProgressMs = progress.getSinceProgressMs();
      task.spilledSinceProgressBytes = progress.getSpilledSinceProgressBytes();
      task.sinceSpillMs = progress.hasSinceSpillMs() ? progress.getSinceSpillMs() : null;
      task.cpuSinceProgressMs = progress.getCpuSinceProgressMs();
      task.idle = progress.getActivity().equals("idle");
      task.seenMs = nowMs;
    }
  }

  /** Counts an ended task. Returns whether the task was stored as running. */
  boolean taskEnded(TaskEnded task, long nowMs) {
    boolean known = running.remove(task.getTaskId()) != null;
    unknown -= !known && unknown > 0 ? 1 : 0;
    finished.add(TaskTotals.of(task));
    lastFinishMs = nowMs;
    switch (task.getOutcome()) {
      case "success":
        succeeded++;
        longestSuccessMs = Math.max(longestSuccessMs, task.getDurationMs());
        break;
      case "killed":
        killed++;
        break;
      default:
        failed++;
        failures.add(task);
    }
    return known;
  }

  void end() {
    ended = true;
  }

  void markIncomplete() {
    incomplete = true;
  }

  boolean isIncomplete() {
    return incomplete;
  }

  boolean ended() {
    return ended;
  }

  Set<Long> runningTasks() {
    return running.keySet();
  }

  /** Returns the longest time since a running task reported progress or started, in ms. */
  long progressAgeMs(long nowMs) {
    long oldest = 0;
    for (Running task : running.values()) {
      oldest = Math.max(oldest, nowMs - task.seenMs);
    }
    return oldest;
  }

  /**
   * Returns the counters of one task; empty if the task is not running or has not reported progress
   * yet.
   */
  Map<String, Long> taskCounters(long taskId) {
    Map<String, Long> values = new LinkedHashMap<>();
    Running task = running.get(taskId);
    if (task == null || task.totals == null) {
      return values;
    }
    values.put("task_age_ms", task.ageMs);
    values.put("task_stalled_ms", task.stalledMs);
    values.put("task_idle", task.idle ? 1L : 0L);
    if (task.stalledMs > 0) {
      values.put("task_cpu_percent", task.cpuSinceProgressMs * 100 / task.stalledMs);
    }
    if (longestSuccessMs > 0) {
      values.put("task_stalled_ratio", task.stalledMs / longestSuccessMs);
    }
    return values;
  }

  /** Returns all counters by column, in the units of the view. */
  Map<String, Long> columns(long nowMs) {
    TaskTotals now = new TaskTotals();
    long oldest = 0;
    long stalled = 0;
    long moving = unknown;
    for (Running task : running.values()) {
      moving += task.totals == null || task.stalledMs < STALLED_MS ? 1 : 0;
      if (task.totals != null) {
        now.add(task.totals);
      }
      oldest = Math.max(oldest, task.ageMs);
      stalled = Math.max(stalled, task.stalledMs);
    }
    Map<String, Long> columns = new LinkedHashMap<>();
    columns.put("num_tasks", (long) tasks);
    columns.put("elapsed_ms", nowMs - startedMs);
    columns.put("since_finish_ms", nowMs - lastFinishMs);
    columns.put("finished_tasks", succeeded + failed + killed);
    columns.put("succeeded_tasks", succeeded);
    columns.put("failed_tasks", failed);
    columns.put("killed_tasks", killed);
    columns.put("running_tasks", (long) running.size() + unknown);
    columns.put("pending_tasks", Math.max(0, tasks - succeeded - running.size() - unknown));
    columns.put("moving_tasks", moving);
    columns.put("same_failure_attempts", failures.attempts());
    columns.put("same_failure_hosts", failures.hosts());
    columns.put("running_age_max_ms", oldest);
    columns.put("running_stalled_max_ms", stalled);
    addSpillWithoutProgress(columns);
    columns.put("finished_cpu_ms", finished.cpuNs / 1_000_000);
    columns.put("running_cpu_ms", now.cpuNs / 1_000_000);
    both(columns, "input_bytes", finished.inputBytes, now.inputBytes);
    both(columns, "input_records", finished.inputRecords, now.inputRecords);
    both(columns, "shuffle_read_bytes", finished.shuffleReadBytes, now.shuffleReadBytes);
    both(columns, "shuffle_read_records", finished.shuffleReadRecords, now.shuffleReadRecords);
    both(columns, "shuffle_write_bytes", finished.shuffleWriteBytes, now.shuffleWriteBytes);
    both(columns, "output_bytes", finished.outputBytes, now.outputBytes);
    both(columns, "memory_spilled_bytes", finished.memorySpilledBytes, now.memorySpilledBytes);
    both(columns, "disk_spilled_bytes", finished.diskSpilledBytes, now.diskSpilledBytes);
    columns.put("running_written_bytes", now.shuffleWriteBytes + now.outputBytes);
    TaskTotals all = now;
    all.add(finished);
    long written = all.shuffleWriteBytes + all.outputBytes;
    long read = all.inputBytes + all.shuffleReadBytes;
    columns.put("written_bytes", written);
    if (read > 0) {
      columns.put("written_ratio", written / read);
    }
    columns.put("memory_spilled_bytes", all.memorySpilledBytes);
    columns.put("disk_spilled_bytes", all.diskSpilledBytes);
    columns.put("work_bytes", read);
    columns.put("work_records", all.inputRecords + all.shuffleReadRecords);
    return columns;
  }

  /**
   * Adds the columns of stage_live about spill without progress; if no task runs, the columns stay
   * absent.
   */
  private void addSpillWithoutProgress(Map<String, Long> columns) {
    long sinceProgress = unknown > 0 ? 0 : Long.MAX_VALUE;
    Running most = null;
    for (Running task : running.values()) {
      sinceProgress = Math.min(sinceProgress, task.sinceProgressMs);
      if (most == null || task.spilledSinceProgressBytes > most.spilledSinceProgressBytes) {
        most = task;
      }
    }
    if (most == null) {
      return;
    }
    columns.put("running_since_progress_min_ms", sinceProgress);
    columns.put("running_spilled_since_progress_max_bytes", most.spilledSinceProgressBytes);
    if (most.sinceSpillMs != null) {
      columns.put("running_since_spill_ms", most.sinceSpillMs);
    }
  }

  private static void both(Map<String, Long> columns, String name, long finished, long running) {
    columns.put("finished_" + name, finished);
    columns.put("running_" + name, running);
  }
}
