package io.sparkfuse.spark.sampler;

import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.spark.safety.SteadyClock;
import org.apache.spark.TaskContext;

/**
 * One running task: its thread, its context, and the last values that the sampler read.
 *
 * <p>All times are from {@link SteadyClock}. The task's thread creates this object; afterwards only
 * the sampler changes it.
 */
final class RunningTask {
  private static final long NEVER = -1;

  final TaskContext context;
  final Thread thread;
  final long startedMs = SteadyClock.ms();

  private TaskSnapshot reading;
  private long movedMs = startedMs;
  private long progressedMs = startedMs;
  private long spilledBeforeProgressBytes;
  private long spillGrewMs = NEVER;
  private long threadCpuNs;
  private long threadCpuDeltaNs;
  private long cpuSinceProgressNs;
  private boolean moved = true;

  RunningTask(TaskContext context, Thread thread) {
    this.context = context;
    this.thread = thread;
  }

  /** Stores new counters and the total CPU time of the thread. */
  void read(TaskSnapshot now, long cpuNs, long nowMs) {
    moved = !now.sameAs(reading);
    if (!now.readAndWroteNothingSince(reading)) {
      progressedMs = nowMs;
      spilledBeforeProgressBytes = now.diskSpilledBytes;
    }
    if (now.diskSpilledBytes > (reading == null ? 0 : reading.diskSpilledBytes)) {
      spillGrewMs = nowMs;
    }
    reading = now;
    threadCpuDeltaNs = Math.max(0, cpuNs - threadCpuNs);
    threadCpuNs = Math.max(0, cpuNs);
    if (moved) {
      restart(nowMs);
    } else {
      cpuSinceProgressNs += threadCpuDeltaNs;
    }
  }

  /** Restarts the measurement of how long the task is stalled. */
  void restart(long nowMs) {
    movedMs = nowMs;
    cpuSinceProgressNs = 0;
  }

  /** Adds CPU time that the task's Python worker may have used since the previous pass. */
  void addPythonCpu(long nanos) {
    cpuSinceProgressNs += nanos;
  }

  boolean moved() {
    return moved;
  }

  long stalledMs(long nowMs) {
    return nowMs - movedMs;
  }

  /**
   * Copies the counters, the time since the task last read or wrote, the time since it last
   * spilled, and the bytes that it has spilled since it last read or wrote.
   */
  void copyTo(TaskProgress.Builder progress, long nowMs) {
    reading.copyTo(progress);
    progress
        .setSinceProgressMs(nowMs - progressedMs)
        .setSpilledSinceProgressBytes(reading.diskSpilledBytes - spilledBeforeProgressBytes);
    if (spillGrewMs != NEVER) {
      progress.setSinceSpillMs(nowMs - spillGrewMs);
    }
  }

  long ageMs(long nowMs) {
    return nowMs - startedMs;
  }

  long threadCpuNs() {
    return threadCpuNs;
  }

  long threadCpuDeltaNs() {
    return threadCpuDeltaNs;
  }

  long cpuSinceProgressNs() {
    return cpuSinceProgressNs;
  }

  boolean sameStageAs(RunningTask other) {
    return context.stageId() == other.context.stageId()
        && context.stageAttemptNumber() == other.context.stageAttemptNumber();
  }
}
