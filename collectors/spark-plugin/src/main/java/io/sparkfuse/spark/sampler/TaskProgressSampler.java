package io.sparkfuse.spark.sampler;

import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.spark.safety.FaultCounter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * Decides for each running task whether it is moving, busy, idle or waiting for Python to start.
 *
 * <p>Thread.State is not used, because a thread that waits for the Python socket is RUNNABLE. A
 * task is idle if its counters do not change and neither its thread nor a Python worker uses CPU.
 */
final class TaskProgressSampler {
  /**
   * A stalled task that uses less than this share of one core counts as idle: timers and other
   * background work stay below this share.
   */
  private static final double BUSY_SHARE = 0.05;

  /**
   * Maximum number of stacks in one pass, because reading a stack pauses the thread for a moment.
   */
  private static final int MAX_STACKS = 64;

  private final JvmGauges gauges;
  private final PythonWorkers python;
  private final FaultCounter faults;
  private final long stackAfterMs;
  private final long pythonGraceMs;

  TaskProgressSampler(
      JvmGauges gauges,
      PythonWorkers python,
      FaultCounter faults,
      long stackAfterMs,
      long pythonGraceMs) {
    this.gauges = gauges;
    this.python = python;
    this.faults = faults;
    this.stackAfterMs = stackAfterMs;
    this.pythonGraceMs = pythonGraceMs;
  }

  /** Returns the progress of each task; tasks that cannot be read are left out. */
  List<TaskProgress.Builder> sample(Collection<RunningTask> tasks, long nowMs, long intervalMs) {
    List<RunningTask> readable = new ArrayList<>(tasks.size());
    for (RunningTask task : tasks) {
      if (read(task, nowMs)) {
        readable.add(task);
      }
    }
    python.update(readable.stream().anyMatch(task -> !task.moved()));
    List<TaskProgress.Builder> progress = new ArrayList<>(readable.size());
    int stacks = 0;
    for (RunningTask task : readable) {
      StackTrace stack = null;
      if (!task.moved() && stacks++ < MAX_STACKS) {
        stack = new StackTrace(task.thread.getStackTrace());
      }
      progress.add(judge(task, stack, readable, nowMs, intervalMs));
    }
    return progress;
  }

  private boolean read(RunningTask task, long nowMs) {
    try {
      TaskSnapshot reading = TaskSnapshot.of(task.context.taskMetrics());
      task.read(reading, gauges.threadCpuNs(task.thread), nowMs);
      return true;
    } catch (Throwable fault) {
      // the task changes the accumulators while they are read; the next pass can succeed
      faults.caught(fault);
      return false;
    }
  }

  private TaskProgress.Builder judge(
      RunningTask task, StackTrace stack, List<RunningTask> all, long nowMs, long intervalMs) {
    String activity = activity(task, stack, all, nowMs, intervalMs);
    TaskProgress.Builder progress =
        TaskProgress.newBuilder()
            .setStageId(task.context.stageId())
            .setStageAttempt(task.context.stageAttemptNumber())
            .setTaskId(task.context.taskAttemptId())
            .setTaskIndex(task.context.partitionId())
            .setTaskAttempt(task.context.attemptNumber())
            .setAgeMs(task.ageMs(nowMs))
            .setStalledMs(task.stalledMs(nowMs))
            .setCpuSinceProgressMs(task.cpuSinceProgressNs() / 1_000_000)
            .setCpuNs(task.threadCpuNs())
            .setActivity(activity);
    task.copyTo(progress, nowMs);
    if (stack != null && task.stalledMs(nowMs) >= stackAfterMs) {
      progress.setStack(stack.text());
      String worker = stack.inPython() ? python.describeStalled() : null;
      if (worker != null) {
        progress.setPythonWorker(worker);
      }
    }
    return progress;
  }

  private String activity(
      RunningTask task, StackTrace stack, List<RunningTask> all, long nowMs, long intervalMs) {
    if (task.moved()) {
      return "moving";
    }
    if (stack != null && stack.startsPython() && task.ageMs(nowMs) < pythonGraceMs) {
      task.restart(nowMs);
      return "python_starting";
    }
    long cpuNs = task.threadCpuDeltaNs();
    if (stack != null && stack.inPython()) {
      long pythonNs = python.cpuBeyond(movingBeside(task, all));
      task.addPythonCpu(pythonNs);
      cpuNs += pythonNs;
    }
    return cpuNs > BUSY_SHARE * intervalMs * 1_000_000 ? "busy" : "idle";
  }

  private static int movingBeside(RunningTask task, List<RunningTask> all) {
    int moving = 0;
    for (RunningTask other : all) {
      if (other != task && other.moved() && other.sameStageAs(task)) {
        moving++;
      }
    }
    return moving;
  }
}
