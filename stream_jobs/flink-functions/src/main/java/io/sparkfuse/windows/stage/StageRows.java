package io.sparkfuse.windows.stage;

import io.sparkfuse.contracts.FailureLive;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.TaskLive;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.windows.aggregates.BiggestTaskAggregate;
import io.sparkfuse.windows.aggregates.Sketches;
import io.sparkfuse.windows.aggregates.SlowestTaskAggregate;
import io.sparkfuse.windows.rows.CommonFields;
import io.sparkfuse.windows.wire.BiggestTask;
import io.sparkfuse.windows.wire.FailuresOfClass;
import io.sparkfuse.windows.wire.RunningTask;
import io.sparkfuse.windows.wire.SlowestTask;
import io.sparkfuse.windows.wire.StageUpdate;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Set;

/**
 * Builds the rows of stage_live, task_live and failure_live from the state of a stage and the
 * window that was added last.
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

  StageUpdate update() {
    setTimes();
    setRunning();
    setQuantiles();
    setTotals();
    setBiggest();
    setSlowest();
    StageUpdate.Builder update =
        StageUpdate.newBuilder()
            .setStage(row)
            .setOvercounted(stage.isOvercounted())
            .setStartSeen(stage.startSeen())
            .setFinishedCpuNs(stage.cpuNs());
    if (stage.endedShare() != null) {
      update.setEndedShare(stage.endedShare());
    }
    for (TaskProgress progress : window.tasks().getProgressList()) {
      if (stage.tasks.hasEnded(progress.getTaskId())) {
        continue;
      }
      if (stage.hasEnded() || stage.tasks.addsRow(progress, window.endMs())) {
        update.addTasks(task(progress));
      } else {
        update.setOtherTasksMoved(true);
      }
    }
    addFailures(update);
    return update.build();
  }

  private long nowMs() {
    return row.hasCompletedMs() ? row.getCompletedMs() : window.endMs();
  }

  private void setTimes() {
    if (row.hasSubmittedMs()) {
      row.setElapsedMs(Math.max(0, nowMs() - row.getSubmittedMs()));
    }
    if (stage.lastFinishedMs != null || row.hasSubmittedMs()) {
      long since = stage.lastFinishedMs == null ? row.getSubmittedMs() : stage.lastFinishedMs;
      row.setSinceFinishMs(Math.max(0, nowMs() - since));
    }
  }

  private void setRunning() {
    TaskProgress.Builder sum = TaskProgress.newBuilder();
    long ageMax = -1;
    long stalledMax = -1;
    SpillWithoutProgress spill = new SpillWithoutProgress();
    for (RunningTask task : stage.tasks.running()) {
      TaskProgress progress = task.getProgress();
      add(sum, progress);
      spill.add(task);
      ageMax = Math.max(ageMax, ageMs(task));
      if (progress.hasStalledMs()) {
        stalledMax = Math.max(stalledMax, progress.getStalledMs());
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
    spill.copyTo(row, stage.tasks.untracked());
    if (ageMax >= 0) {
      row.setRunningAgeMaxMs(ageMax);
    }
    if (stalledMax >= 0) {
      row.setRunningStalledMaxMs(stalledMax);
    }
  }

  private static void add(TaskProgress.Builder sum, TaskProgress progress) {
    sum.setInputBytes(sum.getInputBytes() + progress.getInputBytes())
        .setInputRecords(sum.getInputRecords() + progress.getInputRecords())
        .setShuffleReadBytes(sum.getShuffleReadBytes() + progress.getShuffleReadBytes())
        .setShuffleReadRecords(sum.getShuffleReadRecords() + progress.getShuffleReadRecords())
        .setShuffleWriteBytes(sum.getShuffleWriteBytes() + progress.getShuffleWriteBytes())
        .setOutputBytes(sum.getOutputBytes() + progress.getOutputBytes())
        .setMemorySpilledBytes(sum.getMemorySpilledBytes() + progress.getMemorySpilledBytes())
        .setDiskSpilledBytes(sum.getDiskSpilledBytes() + progress.getDiskSpilledBytes())
        .setCpuNs(sum.getCpuNs() + progress.getCpuNs());
  }

  /**
   * The age of a task by the executor's own clock if it is known; otherwise the time since the
   * task's launch. [ms]
   */
  private long ageMs(RunningTask task) {
    if (task.getProgress().hasAgeMs()) {
      return task.getProgress().getAgeMs();
    }
    return Math.max(0, window.endMs() - task.getLaunchedMs());
  }

  private void setQuantiles() {
    if (!stage.durations.isEmpty()) {
      row.setDurationP50Ms(Sketches.median(stage.durations));
      row.setDurationP95Ms(Sketches.p95(stage.durations));
    }
    if (!stage.taskBytes.isEmpty()) {
      row.setTaskBytesP50(Sketches.median(stage.taskBytes));
      row.setTaskBytesP95(Sketches.p95(stage.taskBytes));
    }
  }

  private void setTotals() {
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

  private void setBiggest() {
    BiggestTask biggest = stage.biggest;
    for (RunningTask task : stage.tasks.running()) {
      if (task.hasProgress()) {
        TaskProgress progress = task.getProgress();
        BiggestTask one =
            BiggestTaskAggregate.of(progress.getTaskIndex(), workBytes(progress), ageMs(task));
        biggest = BiggestTaskAggregate.bigger(biggest, one);
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

  /**
   * Running tasks count only until the stage ends, because after that they no longer delay the
   * stage.
   */
  private void setSlowest() {
    SlowestTask slowest = stage.slowest;
    RunningTask oldest = stage.hasEnded() ? null : oldest();
    if (oldest != null) {
      slowest = SlowestTaskAggregate.slower(slowest, slowestOf(oldest));
    }
    if (slowest == null) {
      return;
    }
    row.setSlowestTaskIndex(slowest.getTaskIndex()).setSlowestTaskMs(slowest.getMs());
    if (slowest.hasExecutorId()) {
      row.setSlowestTaskExecutorId(slowest.getExecutorId());
    }
    if (slowest.hasHost()) {
      row.setSlowestTaskHost(slowest.getHost());
    }
    if (slowest.hasGcMs()) {
      row.setSlowestTaskGcMs(slowest.getGcMs());
    }
    if (slowest.hasBytes()) {
      row.setSlowestTaskBytes(slowest.getBytes());
      if (row.hasTaskBytesP50()) {
        row.setSlowestTaskBytesRatio((slowest.getBytes() + 1.0) / (row.getTaskBytesP50() + 1.0));
      }
    }
    if (row.hasDurationP50Ms()) {
      row.setSlowestTaskLostMs(Math.max(0, (long) (slowest.getMs() - row.getDurationP50Ms())));
      if (row.getElapsedMs() > 0) {
        row.setSlowestTaskLostShare((double) row.getSlowestTaskLostMs() / row.getElapsedMs());
      }
    }
  }

  /** The running task with the highest age, among those whose progress is known. */
  private RunningTask oldest() {
    return stage.tasks.running().stream()
        .filter(RunningTask::hasProgress)
        .max(
            Comparator.comparingLong(this::ageMs)
                .thenComparing(task -> -task.getProgress().getTaskIndex())
                .thenComparing(task -> -task.getTaskId()))
        .orElse(null);
  }

  private SlowestTask slowestOf(RunningTask task) {
    TaskProgress progress = task.getProgress();
    SlowestTask.Builder slowest =
        SlowestTask.newBuilder()
            .setTaskIndex(progress.getTaskIndex())
            .setMs(ageMs(task))
            .setBytes(workBytes(progress));
    if (progress.hasExecutorId()) {
      slowest.setExecutorId(progress.getExecutorId());
      String host = stage.tasks.hostOf(progress.getExecutorId());
      if (host != null) {
        slowest.setHost(host);
      }
    }
    return slowest.build();
  }

  /** One row for each failure class of this window, with all failures of that class so far. */
  private void addFailures(StageUpdate.Builder update) {
    Set<String> changed = new HashSet<>();
    window.failures().getClassesList().forEach(one -> changed.add(one.getFailureClass()));
    if (changed.isEmpty()) {
      return;
    }
    for (FailuresOfClass one : stage.failures.save().getClassesList()) {
      if (changed.contains(one.getFailureClass())) {
        update.addFailures(failure(one));
      }
    }
  }

  private FailureLive failure(FailuresOfClass one) {
    FailureLive.Builder failure =
        FailureLive.newBuilder()
            .setStageId(row.getStageId())
            .setStageAttempt(row.getStageAttempt())
            .setFinishedTasks(row.getFinishedTasks())
            .setHosts(one.getHostsCount())
            .setFailingTasks(one.getTaskIndexesCount())
            .setAttemptsMax(
                one.getTaskFailuresList().stream().mapToLong(Long::longValue).max().orElse(0));
    if (row.hasNumTasks()) {
      failure.setNumTasks(row.getNumTasks());
    }
    CommonFields.copy(one, failure);
    return failure.build();
  }

  private static long workBytes(TaskProgress progress) {
    return progress.getInputBytes() + progress.getShuffleReadBytes();
  }

  private TaskLive task(TaskProgress progress) {
    TaskLive.Builder task =
        TaskLive.newBuilder()
            .setStageId(row.getStageId())
            .setStageAttempt(row.getStageAttempt())
            .setTaskId(progress.getTaskId())
            .setWorkBytes(workBytes(progress))
            .setWorkRecords(progress.getInputRecords() + progress.getShuffleReadRecords());
    CommonFields.copy(progress, task);
    Long outlivedMs = stage.outlivedMs(window.endMs());
    if (outlivedMs != null) {
      task.setOutlivedMs(outlivedMs);
    }
    return task.build();
  }
}
