package io.sparkfuse.windows;

import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.TaskLive;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.windows.wire.BiggestTask;
import io.sparkfuse.windows.wire.RunningTask;
import io.sparkfuse.windows.wire.StageNews;

/**
 * The rows of stage_live and task_live that follow from a stage so far and the window just folded.
 */
final class StageRows {
  private final Stage stage;
  private final StageWindow window;
  private final StageLive.Builder row;

  StageRows(Stage stage, StageWindow window) {
    this.stage = stage;
    this.window = window;
    this.row = stage.soFar.clone();
  }

  StageNews news() {
    times();
    running();
    quantiles();
    totals();
    biggest();
    StageNews.Builder news =
        StageNews.newBuilder().setStage(row).setOvercounted(stage.isOvercounted());
    if (stage.endedShare() != null) {
      news.setEndedShare(stage.endedShare());
    }
    for (TaskProgress told : window.tasks().getProgressList()) {
      if (!stage.tasks.hasEnded(told.getTaskId())) {
        news.addTasks(task(told));
      }
    }
    return news.build();
  }

  private long nowMs() {
    return row.hasCompletedMs() ? row.getCompletedMs() : window.endMs();
  }

  private void times() {
    if (row.hasSubmittedMs()) {
      row.setElapsedMs(Math.max(0, nowMs() - row.getSubmittedMs()));
    }
    if (stage.lastFinishedMs != null || row.hasSubmittedMs()) {
      long since = stage.lastFinishedMs == null ? row.getSubmittedMs() : stage.lastFinishedMs;
      row.setSinceFinishMs(Math.max(0, nowMs() - since));
    }
  }

  private void running() {
    TaskProgress.Builder sum = TaskProgress.newBuilder();
    long ageMax = -1;
    long stalledMax = -1;
    for (RunningTask task : stage.tasks.running()) {
      TaskProgress told = task.getProgress();
      add(sum, told);
      ageMax = Math.max(ageMax, ageMs(task));
      if (told.hasStalledMs()) {
        stalledMax = Math.max(stalledMax, told.getStalledMs());
      }
    }
    row.setRunningTasks(stage.tasks.running().size() + stage.tasks.untracked())
        .setRunningUntrackedTasks(stage.tasks.untracked())
        .setRunningInputBytes(sum.getInputBytes())
        .setRunningInputRecords(sum.getInputRecords())
        .setRunningShuffleReadBytes(sum.getShuffleReadBytes())
        .setRunningShuffleReadRecords(sum.getShuffleReadRecords())
        .setRunningShuffleWriteBytes(sum.getShuffleWriteBytes())
        .setRunningOutputBytes(sum.getOutputBytes())
        .setRunningMemorySpilledBytes(sum.getMemorySpilledBytes())
        .setRunningDiskSpilledBytes(sum.getDiskSpilledBytes())
        .setRunningCpuMs(sum.getCpuNs() / 1_000_000);
    if (ageMax >= 0) {
      row.setRunningAgeMaxMs(ageMax);
    }
    if (stalledMax >= 0) {
      row.setRunningStalledMaxMs(stalledMax);
    }
  }

  private static void add(TaskProgress.Builder sum, TaskProgress told) {
    sum.setInputBytes(sum.getInputBytes() + told.getInputBytes())
        .setInputRecords(sum.getInputRecords() + told.getInputRecords())
        .setShuffleReadBytes(sum.getShuffleReadBytes() + told.getShuffleReadBytes())
        .setShuffleReadRecords(sum.getShuffleReadRecords() + told.getShuffleReadRecords())
        .setShuffleWriteBytes(sum.getShuffleWriteBytes() + told.getShuffleWriteBytes())
        .setOutputBytes(sum.getOutputBytes() + told.getOutputBytes())
        .setMemorySpilledBytes(sum.getMemorySpilledBytes() + told.getMemorySpilledBytes())
        .setDiskSpilledBytes(sum.getDiskSpilledBytes() + told.getDiskSpilledBytes())
        .setCpuNs(sum.getCpuNs() + told.getCpuNs());
  }

  /**
   * By the executor's own clock where it told one, which no difference between clocks can touch.
   */
  private long ageMs(RunningTask task) {
    if (task.getProgress().hasAgeMs()) {
      return task.getProgress().getAgeMs();
    }
    return Math.max(0, window.endMs() - task.getLaunchedMs());
  }

  private void quantiles() {
    if (!stage.durations.isEmpty()) {
      row.setDurationP50Ms(stage.durations.getValueAtQuantile(0.5));
      row.setDurationP95Ms(stage.durations.getValueAtQuantile(0.95));
    }
    if (!stage.taskBytes.isEmpty()) {
      row.setTaskBytesP50(stage.taskBytes.getValueAtQuantile(0.5));
      row.setTaskBytesP95(stage.taskBytes.getValueAtQuantile(0.95));
    }
  }

  private void totals() {
    row.setDiskSpilledBytes(row.getFinishedDiskSpilledBytes() + row.getRunningDiskSpilledBytes())
        .setMemorySpilledBytes(
            row.getFinishedMemorySpilledBytes() + row.getRunningMemorySpilledBytes())
        .setWorkBytes(
            row.getFinishedInputBytes()
                + row.getFinishedShuffleReadBytes()
                + row.getRunningInputBytes()
                + row.getRunningShuffleReadBytes())
        .setWorkRecords(
            row.getFinishedInputRecords()
                + row.getFinishedShuffleReadRecords()
                + row.getRunningInputRecords()
                + row.getRunningShuffleReadRecords());
  }

  private void biggest() {
    BiggestTask biggest = stage.biggest;
    for (RunningTask task : stage.tasks.running()) {
      if (task.hasProgress()) {
        TaskProgress told = task.getProgress();
        BiggestTask one = BiggestTasks.of(told.getTaskIndex(), workBytes(told), ageMs(task));
        biggest = BiggestTasks.bigger(biggest, one);
      }
    }
    if (biggest == null) {
      return;
    }
    row.setBiggestTaskIndex(biggest.getTaskIndex())
        .setBiggestTaskBytes(biggest.getBytes())
        .setBiggestTaskMs(biggest.getMs());
    if (row.hasTaskBytesP50()) {
      row.setBytesRatio((biggest.getBytes() + 1.0) / (row.getTaskBytesP50() + 1.0));
    }
    if (row.hasDurationP50Ms()) {
      row.setLostMs(Math.max(0, (long) (biggest.getMs() - row.getDurationP50Ms())));
      if (row.getElapsedMs() > 0) {
        row.setLostShare((double) row.getLostMs() / row.getElapsedMs());
      }
    }
  }

  private static long workBytes(TaskProgress told) {
    return told.getInputBytes() + told.getShuffleReadBytes();
  }

  private TaskLive task(TaskProgress told) {
    TaskLive.Builder task =
        TaskLive.newBuilder()
            .setStageId(row.getStageId())
            .setStageAttempt(row.getStageAttempt())
            .setTaskId(told.getTaskId())
            .setWorkBytes(workBytes(told))
            .setWorkRecords(told.getInputRecords() + told.getShuffleReadRecords());
    SameFields.copy(told, task);
    return task.build();
  }
}
