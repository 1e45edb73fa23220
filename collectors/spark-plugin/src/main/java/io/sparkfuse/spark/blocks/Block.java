package io.sparkfuse.spark.blocks;

import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The running jobs of one block, and what they have used. Guarded by the lock of its {@link
 * Blocks}.
 */
final class Block {
  private static final class Task {
    private final long startedMs;
    private long spilledBytes;
    private long rows;

    private Task(long startedMs) {
      this.startedMs = startedMs;
    }
  }

  final BlockTag tag;
  final Set<Integer> jobs = new TreeSet<>();
  private final long startedMs;
  private final Map<Long, Task> tasks = new HashMap<>();
  private long spilledBytes;
  private long rows;
  private long taskMs;

  /** Number of safe points that the code of the block has begun and not closed. */
  int safePoints;

  /** When the block first exceeded a limit, or null. */
  Long exceededMs;

  /** Why the jobs of the block are cancelled, or null. */
  String reason;

  /** Whether a hold has already prevented the stop; this is reported only once. */
  boolean held;

  Limit limit;
  long used;
  long waitedMs;

  Block(BlockTag tag, long startedMs) {
    this.tag = tag;
    this.startedMs = startedMs;
  }

  void taskStarted(long taskId, long nowMs) {
    tasks.put(taskId, new Task(nowMs));
  }

  void taskProgressed(long taskId, long spilled, long written) {
    Task task = tasks.get(taskId);
    if (task != null) {
      task.spilledBytes = Math.max(task.spilledBytes, spilled);
      task.rows = Math.max(task.rows, written);
    }
  }

  void taskEnded(long taskId, long runMs, long spilled, long written) {
    if (tasks.remove(taskId) != null) {
      spilledBytes += spilled;
      rows += written;
      taskMs += runMs;
    }
  }

  /** Returns the limits to check: all limits or, once a limit was exceeded, only that limit. */
  Collection<Limit> limitsToCheck() {
    return exceededMs == null ? tag.limits.keySet() : Collections.singleton(limit);
  }

  /** Returns the values that the gates need to check one limit now. */
  BlockGates.Case at(Limit which, long nowMs, int taskCores) {
    BlockGates.Case each = new BlockGates.Case();
    each.block = tag.key;
    each.bound = tag.limits.get(which);
    // A limit that was exceeded stays exceeded, even if Spark loses the metrics of a task.
    each.used = exceededMs != null ? used : used(which, nowMs, taskCores, false);
    each.certain = exceededMs != null ? used : used(which, nowMs, taskCores, true);
    each.inSafePoint = reason == null && safePoints > 0;
    each.overMs = exceededMs == null ? 0 : nowMs - exceededMs;
    return each;
  }

  /** Records the first exceeded limit, and the time at which it was exceeded. */
  void exceeded(Limit which, long now, long nowMs) {
    if (exceededMs == null) {
      limit = which;
      used = now;
      exceededMs = nowMs;
    }
  }

  /**
   * Returns the usage of one limit. If {@code certain}, leaves out the time of running tasks,
   * because their end event may have been dropped.
   */
  private long used(Limit which, long nowMs, int taskCores, boolean certain) {
    long spilled = spilledBytes;
    long written = rows;
    long ran = taskMs;
    for (Task task : tasks.values()) {
      spilled += task.spilledBytes;
      written += task.rows;
      ran += certain ? 0 : nowMs - task.startedMs;
    }
    switch (which) {
      case SECONDS:
        return nowMs - startedMs;
      case SPILL:
        return spilled;
      case OUTPUT_ROWS:
        return written;
      default:
        return ran * taskCores;
    }
  }

  /** Returns the text for Spark's exception; {@code sparkfuse.CircuitBreaker} parses this text. */
  String text(String done) {
    String waited = waitedMs > 0 ? ", after " + waitedMs + " ms in a safe point" : "";
    return String.format(
        "[SPARKFUSE_BLOCK_STOPPED] Sparkfuse %s block %s%s. Tag: %s. Limit: %s %d. Evidence: %d %s."
            + " To override: raise %s of the block, or set spark.sparkfuse.fuse.hold=true. (end)",
        done,
        tag.name,
        waited,
        tag.key,
        limit.text,
        tag.limits.get(limit),
        used,
        limit.unit,
        limit.text);
  }

  Map<String, Object> report() {
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("tag", tag.key);
    report.put("stopped", reason != null);
    report.put("held", held);
    report.put(
        "text", reason != null ? reason : held ? text("would stop, but a hold prevents it,") : "");
    report.put("running_jobs", jobs.size());
    report.put("spilled_bytes", spilledBytes);
    report.put("output_rows", rows);
    report.put("task_ms", taskMs);
    report.put("waited_ms", waitedMs);
    return report;
  }
}
