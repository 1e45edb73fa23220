package io.sparkfuse.windows.stage;

import io.sparkfuse.contracts.FailureLive;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.TaskLive;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.windows.aggregates.BiggestTaskAggregate;
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
 * The rows of stage_live, task_live and failure_live that follow from a stage so far and the window
 * just folded.
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

  StageUpdate news() {
    times();
    running();
    quantiles();
    totals();
    biggest();
    slowest();
    StageUpdate.Builder news =
        StageUpdate.newBuilder()
            .setStage(row)
            .setOvercounted(stage.isOvercounted())
            .setFinishedCpuNs(stage.cpuNs());
    if (stage.endedShare() != null) {
      news.setEndedShare(stage.endedShare());
    }
    for (TaskProgress told : window.tasks().getProgressList()) {
      if (!stage.tasks.hasEnded(told.getTaskId())) {
        news.addTasks(task(told));
      }
    }
    addFailures(news);
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
        BiggestTask one =
            BiggestTaskAggregate.of(told.getTaskIndex(), workBytes(told), ageMs(task));
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

  /** A task that outlives its stage holds the stage up no more, so it counts no more here. */
  private void slowest() {
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

  /** The running task that told the highest age; of those that told none the index is unknown. */
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
    TaskProgress told = task.getProgress();
    SlowestTask.Builder slowest =
        SlowestTask.newBuilder()
            .setTaskIndex(told.getTaskIndex())
            .setMs(ageMs(task))
            .setBytes(workBytes(told));
    if (told.hasExecutorId()) {
      slowest.setExecutorId(told.getExecutorId());
      String host = stage.tasks.hostOf(told.getExecutorId());
      if (host != null) {
        slowest.setHost(host);
      }
    }
    return slowest.build();
  }

  /** One row for each class of which an attempt failed in this window, with all that failed so. */
  private void addFailures(StageUpdate.Builder news) {
    Set<String> told = new HashSet<>();
    window.failures().getClassesList().forEach(one -> told.add(one.getFailureClass()));
    if (told.isEmpty()) {
      return;
    }
    for (FailuresOfClass one : stage.failures.save().getClassesList()) {
      if (told.contains(one.getFailureClass())) {
        news.addFailures(failure(one));
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
    CommonFields.copy(told, task);
    Long outlivedMs = stage.outlivedMs(window.endMs());
    if (outlivedMs != null) {
      task.setOutlivedMs(outlivedMs);
    }
    return task.build();
  }
}
