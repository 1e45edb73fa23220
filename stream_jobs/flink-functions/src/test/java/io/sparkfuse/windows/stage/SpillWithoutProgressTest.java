package io.sparkfuse.windows.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.windows.wire.RunningTask;
import org.junit.jupiter.api.Test;

/** Tests the columns about tasks that spill but neither read nor write. */
class SpillWithoutProgressTest {
  /**
   * The row has the shortest time without progress, the most spilled bytes, and the last spill of
   * the task with the most bytes.
   */
  @Test
  void lastSpillIsOfTheTaskWithTheMostBytes() {
    StageLive row = row(0, task(1, 90_000, 500, 60_000L), task(2, 40_000, 20, 100L));

    assertEquals(40_000, row.getRunningSinceProgressMinMs());
    assertEquals(500, row.getRunningSpilledSinceProgressMaxBytes());
    assertEquals(60_000, row.getRunningSinceSpillMs());
  }

  /** A task whose progress is unknown is treated as one that reads and writes now. */
  @Test
  void unknownTaskReadsAndWritesNow() {
    RunningTask started = RunningTask.newBuilder().setTaskId(3).build();

    assertEquals(0, row(0, task(1, 90_000, 500, 5L), started).getRunningSinceProgressMinMs());
    assertEquals(0, row(1, task(1, 90_000, 500, 5L)).getRunningSinceProgressMinMs());
    assertEquals(90_000, row(0, task(1, 90_000, 500, 5L)).getRunningSinceProgressMinMs());
  }

  /** Without a running task, or without spill, the columns are absent. */
  @Test
  void absentWithoutEvidence() {
    assertEquals(StageLive.getDefaultInstance(), row(0));
    assertFalse(row(0, task(1, 90_000, 0, null)).hasRunningSinceSpillMs());
  }

  private static RunningTask task(long id, long sinceProgressMs, long bytes, Long sinceSpillMs) {
    TaskProgress.Builder progress =
        TaskProgress.newBuilder()
            .setTaskId(id)
            .setSinceProgressMs(sinceProgressMs)
            .setSpilledSinceProgressBytes(bytes);
    if (sinceSpillMs != null) {
      progress.setSinceSpillMs(sinceSpillMs);
    }
    return RunningTask.newBuilder().setTaskId(id).setProgress(progress).build();
  }

  private static StageLive row(long untracked, RunningTask... tasks) {
    SpillWithoutProgress spill = new SpillWithoutProgress();
    for (RunningTask task : tasks) {
      spill.add(task);
    }
    StageLive.Builder row = StageLive.newBuilder();
    spill.copyTo(row, untracked);
    return row.build();
  }
}
