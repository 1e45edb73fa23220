package io.sparkfuse.windows.application;

import io.sparkfuse.contracts.AppLive;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.windows.stage.Stage;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.StageTotals;
import io.sparkfuse.windows.wire.StageTotalsOrBuilder;
import io.sparkfuse.windows.wire.StageUpdate;
import java.util.Comparator;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;

/**
 * The totals of each stage of an application. Of the totals of stages that ended long ago, only the
 * sum is stored.
 *
 * <p>If the end of a stage was lost, the stage counts as running until {@link #LOST_MS} after its
 * last fact, as long as {@code StageFold} keeps its state. If an application has more than {@link
 * #MAX_STAGES} stages, those without a fact for the longest time are removed before that time; if
 * facts about such a stage arrive, they are counted twice in the totals of the application.
 */
final class ApplicationStages {
  /** A stage without a fact for this long counts as ended. [ms] */
  static final long LOST_MS = 2 * 86_400_000;

  static final int MAX_STAGES = 10_000;

  private final TreeMap<Long, StageTotals> stages = new TreeMap<>();
  private StageTotals forgotten = StageTotals.getDefaultInstance();

  static ApplicationStages restore(ApplicationState saved) {
    ApplicationStages stages = new ApplicationStages();
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

  /**
   * Replaces the totals of the stage: an update holds the state of the whole stage. Returns whether
   * the stage made progress: a task ended, a counter of a running task rose, or a running task uses
   * CPU.
   */
  boolean add(StageUpdate update, ApplicationQueries queries, long windowEndMs) {
    forgetBefore(windowEndMs);
    StageLive row = update.getStage();
    StageTotals.Builder totals =
        StageTotals.newBuilder()
            .setStageId(row.getStageId())
            .setStageAttempt(row.getStageAttempt())
            .setRunning("running".equals(row.getStatus()))
            .setRunningTasks(row.getRunningTasks())
            .setFinishedTasks(row.getFinishedTasks())
            .setFailedTasks(row.getFailedTasks())
            .setDiskSpilledBytes(row.getDiskSpilledBytes())
            .setFinishedCpuNs(update.getFinishedCpuNs())
            .setWorkBytes(row.getFinishedInputBytes() + row.getFinishedShuffleReadBytes())
            .setWorkRecords(row.getFinishedInputRecords() + row.getFinishedShuffleReadRecords())
            .setRunningCounters(runningCounters(row))
            .setFailed("failed".equals(row.getStatus()))
            .setInputBytes(row.getFinishedInputBytes() + row.getRunningInputBytes())
            .setOutputBytes(row.getFinishedOutputBytes() + row.getRunningOutputBytes())
            .setShuffleReadBytes(
                row.getFinishedShuffleReadBytes() + row.getRunningShuffleReadBytes())
            .setResultBytes(row.getResultBytes())
            .setStages(1)
            .setUpdatedAtMs(windowEndMs);
    Long query =
        row.hasSqlExecutionId()
            ? (Long) row.getSqlExecutionId()
            : queries.queryOf(row.getStageId());
    if (query != null) {
      totals.setQueryId(query);
    }
    if (totals.getWorkBytes() == 0 && totals.getWorkRecords() == 0) {
      totals.setOperatorRows(row.getOperatorRowsMax());
    }
    if (!totals.getRunning()) {
      totals.setEndedAtMs(windowEndMs);
    }
    StageTotals before = stages.put(key(row.getStageId(), row.getStageAttempt()), totals.build());
    queries.replace(before, totals.build());
    return totals.getRunning() && (progressed(before, totals) || anyIsActive(update));
  }

  boolean anyRuns() {
    return stages.values().stream().anyMatch(StageTotals::getRunning);
  }

  /** Tasks that started and did not end, including those of ended stages. */
  long runningTasks() {
    return forgotten.getRunningTasks()
        + stages.values().stream().mapToLong(StageTotals::getRunningTasks).sum();
  }

  private static boolean progressed(StageTotals before, StageTotalsOrBuilder now) {
    return before == null
        || before.getFinishedTasks() != now.getFinishedTasks()
        || before.getRunningCounters() != now.getRunningCounters();
  }

  /**
   * Whether any task is active, as reported by the executor, which measures the CPU time of the
   * task thread and its Python workers.
   */
  private static boolean anyIsActive(StageUpdate update) {
    return update.getOtherTasksMoved()
        || update.getTasksList().stream()
            .anyMatch(task -> task.hasActivity() && !task.getActivity().equals("idle"));
  }

  private static long runningCounters(StageLive row) {
    return row.getRunningInputBytes()
        + row.getRunningInputRecords()
        + row.getRunningShuffleReadBytes()
        + row.getRunningShuffleReadRecords()
        + row.getRunningShuffleWriteBytes()
        + row.getRunningOutputBytes()
        + row.getRunningMemorySpilledBytes()
        + row.getRunningDiskSpilledBytes();
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
        .setDiskSpilledBytes(all.getDiskSpilledBytes())
        .setFinishedCpuMs(all.getFinishedCpuNs() / 1_000_000)
        .setWorkBytes(all.getWorkBytes())
        .setWorkRecords(all.getWorkRecords());
    if (all.getOperatorRows() > 0) {
      row.setOperatorRows(all.getOperatorRows());
    }
  }

  /**
   * Moves the totals of stages that ended long ago, or whose end was lost, into one sum. StageFold
   * removes these stages at the same time, and counts again from 0 if facts arrive later.
   */
  private void forgetBefore(long nowMs) {
    Iterator<StageTotals> all = stages.values().iterator();
    while (all.hasNext()) {
      StageTotals stage = all.next();
      if (stage.hasEndedAtMs() && stage.getEndedAtMs() <= nowMs - Stage.GRACE_MS) {
        forgotten = sum(forgotten, stage);
        all.remove();
      } else if (stage.hasUpdatedAtMs() && stage.getUpdatedAtMs() <= nowMs - LOST_MS) {
        forgotten = sum(forgotten, withoutTasks(stage));
        all.remove();
      }
    }
    long tooMany = Math.max(0, stages.size() - MAX_STAGES);
    if (tooMany > 0) {
      stages.entrySet().stream()
          .sorted(
              Comparator.comparingLong(
                  (Map.Entry<Long, StageTotals> each) -> each.getValue().getUpdatedAtMs()))
          .limit(tooMany)
          .toList()
          .forEach(
              oldest -> {
                forgotten = sum(forgotten, withoutTasks(oldest.getValue()));
                stages.remove(oldest.getKey());
              });
    }
  }

  /** The totals of a stage whose running tasks are no longer known to run. */
  private static StageTotals withoutTasks(StageTotals stage) {
    return stage.toBuilder().clearRunningTasks().build();
  }

  private static StageTotals sum(StageTotals one, StageTotals other) {
    return StageTotals.newBuilder()
        .setRunningTasks(one.getRunningTasks() + other.getRunningTasks())
        .setFinishedTasks(one.getFinishedTasks() + other.getFinishedTasks())
        .setFailedTasks(one.getFailedTasks() + other.getFailedTasks())
        .setDiskSpilledBytes(one.getDiskSpilledBytes() + other.getDiskSpilledBytes())
        .setFinishedCpuNs(one.getFinishedCpuNs() + other.getFinishedCpuNs())
        .setWorkBytes(one.getWorkBytes() + other.getWorkBytes())
        .setWorkRecords(one.getWorkRecords() + other.getWorkRecords())
        .setOperatorRows(one.getOperatorRows() + other.getOperatorRows())
        .setStages(one.getStages() + other.getStages())
        .build();
  }

  private static long key(int stage, int attempt) {
    return ((long) stage << 32) | (attempt & 0xffffffffL);
  }
}
