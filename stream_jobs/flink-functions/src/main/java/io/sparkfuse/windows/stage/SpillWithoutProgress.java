package io.sparkfuse.windows.stage;

import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.windows.wire.RunningTask;

/**
 * How long no running task of a stage read or wrote, and the task that spilled most since it did.
 *
 * <p>A task counts as one that reads and writes now if its progress is unknown. The time since the
 * last spill is the one of the task with the most bytes, so that a task that has stopped spilling
 * and another one that spills little are not taken for one that spills much.
 */
final class SpillWithoutProgress {
  private long sinceProgressMs = Long.MAX_VALUE;
  private TaskProgress most;

  void add(RunningTask task) {
    TaskProgress progress = task.getProgress();
    sinceProgressMs = Math.min(sinceProgressMs, progress.getSinceProgressMs());
    if (most == null || bytes(progress) > bytes(most)) {
      most = progress;
    }
  }

  /** Sets the columns, unless no task is known; {@code untracked} tasks are running too. */
  void copyTo(StageLive.Builder row, long untracked) {
    if (most == null) {
      return;
    }
    row.setRunningSinceProgressMinMs(untracked > 0 ? 0 : sinceProgressMs)
        .setRunningSpilledSinceProgressMaxBytes(bytes(most));
    if (most.hasSinceSpillMs()) {
      row.setRunningSinceSpillMs(most.getSinceSpillMs());
    }
  }

  private static long bytes(TaskProgress progress) {
    return progress.getSpilledSinceProgressBytes();
  }
}
