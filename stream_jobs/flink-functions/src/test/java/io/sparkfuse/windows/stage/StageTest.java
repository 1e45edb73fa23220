package io.sparkfuse.windows.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datadoghq.sketch.ddsketch.DDSketch;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.windows.aggregates.BiggestTaskAggregate;
import io.sparkfuse.windows.aggregates.Sketches;
import io.sparkfuse.windows.wire.FailedTasks;
import io.sparkfuse.windows.wire.StageState;
import io.sparkfuse.windows.wire.StageUpdate;
import io.sparkfuse.windows.wire.TaskChanges;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class StageTest {
  private static final long T0 = 1_000_000;

  /** A stage that is restored after each window emits the same rows as without restores. */
  @Test
  void restartDoesNotChangeTheRows() throws Exception {
    Stage kept = new Stage();
    Stage restored = new Stage();
    StageUpdate last = null;
    StageUpdate lastRestored = null;
    for (int window = 0; window < 5; window++) {
      StageWindow next = window(window, 100 + window, 3);
      last = kept.fold(next);
      StageState state = StageState.parseFrom(restored.save().toByteArray());
      restored = Stage.restore(state, next.endMs());
      lastRestored = restored.fold(next);
    }

    assertEquals(last, lastRestored);
    assertEquals(15, last.getStage().getFinishedTasks());
    assertEquals(
        7, last.getStage().getFinishedCpuMs(), "15 tasks of half a millisecond, rounded once");
    assertEquals(104, last.getStage().getDurationMaxMs());
  }

  /**
   * If a task's end arrives before its start, or its progress after its end, no running task
   * remains.
   */
  @Test
  void endedTaskStaysEnded() {
    Stage stage = new Stage();
    stage.fold(tasks(1, TaskChanges.newBuilder().addEndedIds(7)));
    StageUpdate late =
        stage.fold(
            tasks(
                2,
                TaskChanges.newBuilder()
                    .addStartedIds(7)
                    .addLaunchedMs(T0)
                    .addProgress(TaskProgress.newBuilder().setTaskId(7).setAgeMs(5))));

    assertEquals(0, late.getStage().getRunningTasks());
    assertEquals(0, late.getTasksCount());
  }

  /** Tasks beyond the limit are only counted, and the number of running tasks stays correct. */
  @Test
  void boundsTheTrackedTasks() {
    Stage stage = new Stage();
    int many = StageTasks.MAX_TRACKED + 500;
    TaskChanges.Builder started = TaskChanges.newBuilder();
    LongStream.range(0, many).forEach(task -> started.addStartedIds(task).addLaunchedMs(T0));
    StageLive full = stage.fold(tasks(1, started)).getStage();
    TaskChanges.Builder ended = TaskChanges.newBuilder();
    LongStream.range(many - 600, many).forEach(ended::addEndedIds);
    StageLive after = stage.fold(tasks(2, ended)).getStage();

    assertEquals(many, full.getRunningTasks());
    assertEquals(500, full.getRunningUntrackedTasks());
    assertEquals(many - 600, after.getRunningTasks());
    assertEquals(0, after.getRunningUntrackedTasks());
  }

  /**
   * A task end that arrives after the end of its stage is added to that stage until the grace
   * period is over.
   */
  @Test
  void keepsAStageForItsGracePeriod() throws Exception {
    Stage stage = new Stage();
    stage.fold(started(1, 2));
    stage.fold(ended(2));
    StageState state = stage.save();
    long forgetAtMs = stage.forgetAtMs();

    StageUpdate within = Stage.restore(state, forgetAtMs - 1).fold(window(3, 100, 2));
    StageUpdate beyond = Stage.restore(state, forgetAtMs).fold(window(3, 100, 2));

    assertEquals("succeeded", within.getStage().getStatus());
    assertEquals(1.0, within.getEndedShare());
    assertFalse(beyond.getStage().hasSubmittedMs());
    assertEquals(2, beyond.getStage().getFinishedTasks());
  }

  /**
   * Missing task ends lower the ended share of a succeeded stage; too many task ends mark the stage
   * as overcounted.
   */
  @Test
  void comparesEndsWithTheNumberOfTasks() {
    Stage stage = new Stage();
    stage.fold(started(1, 4));
    StageUpdate running = stage.fold(window(2, 100, 3));
    StageUpdate short_ = stage.fold(ended(3));
    StageUpdate full = stage.fold(window(4, 100, 1));
    StageUpdate over = stage.fold(window(5, 100, 1));

    assertFalse(running.hasEndedShare());
    assertEquals(0.75, short_.getEndedShare());
    assertEquals(1.0, full.getEndedShare());
    assertFalse(full.getOvercounted());
    assertTrue(over.getOvercounted());
  }

  /**
   * Without reported progress, the age of a task is the time since its launch; otherwise the
   * reported age is used.
   */
  @Test
  void prefersTheAgeThatTheExecutorReports() {
    Stage stage = new Stage();
    TaskChanges.Builder changes =
        TaskChanges.newBuilder()
            .addStartedIds(1)
            .addLaunchedMs(T0 - 400)
            .addStartedIds(2)
            .addLaunchedMs(T0 - 600_000)
            .addProgress(TaskProgress.newBuilder().setTaskId(2).setAgeMs(300));
    StageLive row = stage.fold(tasks(0, changes)).getStage();

    assertEquals(400, row.getRunningAgeMaxMs());
    assertNull(row.hasBytesRatio() ? row.getBytesRatio() : null);
  }

  /** Operator rows and results are reported from the end of the stage on, even after a restart. */
  @Test
  void reportsAccumulatorsAfterTheEnd() throws Exception {
    Stage stage = new Stage();
    StageLive running = stage.fold(started(1, 2)).getStage();
    StageEnded.Builder end = StageEnded.newBuilder().setSucceeded(true).setCompletedMs(end(2));
    stage.fold(
        with(
            2,
            TaskChanges.getDefaultInstance(),
            null,
            end.setOperatorRowsMax(1_000).setResultBytes(7_000).build()));
    StageState saved = StageState.parseFrom(stage.save().toByteArray());
    StageLive later = Stage.restore(saved, end(3)).fold(window(3, 100, 2)).getStage();

    assertFalse(running.hasOperatorRowsMax() || running.hasResultBytes());
    assertEquals(1_000, later.getOperatorRowsMax());
    assertEquals(7_000, later.getResultBytes());
  }

  private static long end(int window) {
    return T0 + window * 5000L;
  }

  private static StageWindow window(int window, long durationMs, int tasks) {
    DDSketch durations = Sketches.empty();
    for (int task = 0; task < tasks; task++) {
      durations.accept(durationMs);
    }
    StageLive sums =
        StageLive.newBuilder().setFinishedTasks(tasks).setSucceededTasks(tasks).build();
    return new StageWindow(
        end(window),
        3,
        0,
        sums,
        tasks * 500_000L,
        durationMs,
        null,
        durations,
        null,
        BiggestTaskAggregate.of(window, 10, durationMs),
        null,
        FailedTasks.getDefaultInstance(),
        end(window) - 1,
        tasks,
        TaskChanges.getDefaultInstance(),
        null,
        null);
  }

  private static StageWindow tasks(int window, TaskChanges.Builder changes) {
    return with(window, changes.build(), null, null);
  }

  private static StageWindow started(int window, int tasks) {
    StageStarted started = StageStarted.newBuilder().setNumTasks(tasks).setSubmittedMs(T0).build();
    return with(window, TaskChanges.getDefaultInstance(), started, null);
  }

  private static StageWindow ended(int window) {
    StageEnded ended =
        StageEnded.newBuilder().setSucceeded(true).setCompletedMs(end(window)).build();
    return with(window, TaskChanges.getDefaultInstance(), null, ended);
  }

  private static StageWindow with(
      int window, TaskChanges changes, StageStarted started, StageEnded ended) {
    return new StageWindow(
        end(window),
        3,
        0,
        StageLive.getDefaultInstance(),
        0,
        null,
        null,
        null,
        null,
        null,
        null,
        FailedTasks.getDefaultInstance(),
        null,
        0,
        changes,
        started,
        ended);
  }
}
