package io.sparkfuse.windows;

import io.sparkfuse.contracts.AppLive;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.StageTotals;
import java.util.Iterator;
import java.util.TreeMap;

/** The last numbers of each stage of an application; stages that ended long ago are one sum. */
final class StagesOfApplication {
  private final TreeMap<Long, StageTotals> stages = new TreeMap<>();
  private StageTotals forgotten = StageTotals.getDefaultInstance();

  static StagesOfApplication restore(ApplicationState saved) {
    StagesOfApplication stages = new StagesOfApplication();
    saved
        .getStagesList()
        .forEach(
            stage -> stages.stages.put(key(stage.getStageId(), stage.getStageAttempt()), stage));
    stages.forgotten = saved.getForgotten();
    return stages;
  }

  void save(ApplicationState.Builder state) {
    state.addAllStages(stages.values()).setForgotten(forgotten);
  }

  /** Replaces what was known of the stage: a stage's row is its whole truth. */
  void see(StageLive row, long windowEndMs) {
    forgetBefore(windowEndMs - Stage.GRACE_MS);
    StageTotals.Builder totals =
        StageTotals.newBuilder()
            .setStageId(row.getStageId())
            .setStageAttempt(row.getStageAttempt())
            .setRunning("running".equals(row.getStatus()))
            .setRunningTasks(row.getRunningTasks())
            .setFinishedTasks(row.getFinishedTasks())
            .setFailedTasks(row.getFailedTasks())
            .setDiskSpilledBytes(row.getDiskSpilledBytes())
            .setStages(1);
    if (!totals.getRunning()) {
      totals.setEndedAtMs(windowEndMs);
    }
    stages.put(key(row.getStageId(), row.getStageAttempt()), totals.build());
  }

  void fill(AppLive.Builder row) {
    StageTotals all = forgotten;
    long running = 0;
    for (StageTotals stage : stages.values()) {
      all = sum(all, stage);
      running += stage.getRunning() ? 1 : 0;
    }
    row.setRunningStages(running)
        .setEndedStages(all.getStages() - running)
        .setRunningTasks(all.getRunningTasks())
        .setFinishedTasks(all.getFinishedTasks())
        .setFailedTasks(all.getFailedTasks())
        .setDiskSpilledBytes(all.getDiskSpilledBytes());
  }

  /**
   * StageFold forgets at the same moment: what still comes of such a stage is counted from 0 there.
   */
  private void forgetBefore(long endedMs) {
    Iterator<StageTotals> all = stages.values().iterator();
    while (all.hasNext()) {
      StageTotals stage = all.next();
      if (stage.hasEndedAtMs() && stage.getEndedAtMs() <= endedMs) {
        forgotten = sum(forgotten, stage);
        all.remove();
      }
    }
  }

  private static StageTotals sum(StageTotals one, StageTotals other) {
    return StageTotals.newBuilder()
        .setRunningTasks(one.getRunningTasks() + other.getRunningTasks())
        .setFinishedTasks(one.getFinishedTasks() + other.getFinishedTasks())
        .setFailedTasks(one.getFailedTasks() + other.getFailedTasks())
        .setDiskSpilledBytes(one.getDiskSpilledBytes() + other.getDiskSpilledBytes())
        .setStages(one.getStages() + other.getStages())
        .build();
  }

  private static long key(int stage, int attempt) {
    return ((long) stage << 32) | (attempt & 0xffffffffL);
  }
}
