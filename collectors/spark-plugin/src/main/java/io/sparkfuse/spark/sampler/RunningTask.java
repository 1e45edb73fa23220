package io.sparkfuse.spark.sampler;

import io.sparkfuse.spark.safety.SteadyClock;
import org.apache.spark.TaskContext;

/**
 * One running task: its thread and context, and what the sampler saw of it last.
 *
 * <p>All moments are of {@link SteadyClock}. Made by the task's thread, which does nothing more;
 * all that changes is the sampler's.
 */
final class RunningTask {
  final TaskContext context;
  final Thread thread;
  final long startedMs = SteadyClock.ms();

  private TaskSnapshot reading;
  private long movedMs = startedMs;
  private long threadCpuNs;
  private long threadCpuDeltaNs;
  private long cpuSinceProgressNs;
  private boolean moved = true;

  RunningTask(TaskContext context, Thread thread) {
    this.context = context;
    this.thread = thread;
  }

  /** Takes new counters and the CPU of the thread so far. */
  void read(TaskSnapshot now, long cpuNs, long nowMs) {
    moved = !now.sameAs(reading);
    reading = now;
    threadCpuDeltaNs = Math.max(0, cpuNs - threadCpuNs);
    threadCpuNs = Math.max(0, cpuNs);
    if (moved) {
      restart(nowMs);
    } else {
      cpuSinceProgressNs += threadCpuDeltaNs;
    }
  }

  /** Begins to count the standstill anew. */
  void restart(long nowMs) {
    movedMs = nowMs;
    cpuSinceProgressNs = 0;
  }

  /** Adds CPU that the task's Python worker may have used since the pass before. */
  void addPythonCpu(long nanos) {
    cpuSinceProgressNs += nanos;
  }

  TaskSnapshot reading() {
    return reading;
  }

  boolean moved() {
    return moved;
  }

  long stalledMs(long nowMs) {
    return nowMs - movedMs;
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
