package io.sparkfuse.windows.stage;

import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.windows.wire.RunningTask;

/**
 * Computes how long no running task of a stage has read or written, and which task has spilled most
 * since it last read or wrote.
 *
 * <p>If the progress of a task is unknown, the task counts as reading and writing now. The time
 * since the last spill is that of the task with the most spilled bytes. Otherwise, a task that has
 * stopped spilling and another that spills little would look like one task that spills a lot.
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

  /**
   * Sets the columns if at least one task was added; {@code untracked} is the number of running
   * tasks that were not added.
   */
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
