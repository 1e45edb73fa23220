package io.sparkfuse.windows.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.datadoghq.sketch.ddsketch.DDSketch;
import io.sparkfuse.contracts.FailureLive;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.TaskLive;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.windows.aggregates.Failures;
import io.sparkfuse.windows.aggregates.Sketches;
import io.sparkfuse.windows.wire.FailedTasks;
import io.sparkfuse.windows.wire.SlowestTask;
import io.sparkfuse.windows.wire.StageState;
import io.sparkfuse.windows.wire.StageUpdate;
import io.sparkfuse.windows.wire.TaskChanges;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tests the rows of a stage's tasks that are slow, failed, or outlive the stage. */
class StageTasksTest {
  private static final long T0 = 1_000_000;

  /**
   * The slowest task is chosen among ended and running tasks. The row has those values of this task
   * that are known.
   */
  @Test
  void slowestTaskCanHaveEndedOrRun() throws Exception {
    Stage stage = new Stage();
    StageLive ended =
        fold(stage, window(1).started(4).slowest(slowest(2, 4000, 6000L, "1", "h1")).median(2000))
            .getStage();
    TaskProgress progress =
        TaskProgress.newBuilder()
            .setTaskId(13)
            .setTaskIndex(3)
            .setAgeMs(9000)
            .setInputBytes(200)
            .setExecutorId("7")
            .setHost("h7")
            .build();
    StageLive running = fold(stage, window(2).progress(progress)).getStage();

    assertEquals(2, ended.getSlowestTaskIndex());
    assertEquals(4000, ended.getSlowestTaskMs());
    assertEquals(6000, ended.getSlowestTaskBytes());
    assertEquals("1", ended.getSlowestTaskExecutorId());
    assertEquals("h1", ended.getSlowestTaskHost());
    assertEquals(12, ended.getSlowestTaskGcMs());
    assertEquals(2000, ended.getSlowestTaskLostMs(), 21);
    assertEquals(
        (double) ended.getSlowestTaskLostMs() / ended.getElapsedMs(),
        ended.getSlowestTaskLostShare());
    assertEquals(6001 / (ended.getTaskBytesP50() + 1), ended.getSlowestTaskBytesRatio());
    assertEquals(3, running.getSlowestTaskIndex());
    assertEquals(9000, running.getSlowestTaskMs());
    assertEquals(200, running.getSlowestTaskBytes());
    assertFalse(running.hasSlowestTaskGcMs());
  }

  /** A running task keeps its executor and host in windows without progress. */
  @Test
  void keepsExecutorAndHostOverWindows() throws Exception {
    Stage stage = new Stage();
    fold(stage, window(1).started(4).progress(progress(9, 5000)));
    Stage restored = Stage.restore(StageState.parseFrom(stage.save().toByteArray()), T0);
    StageLive row = fold(restored, window(2)).getStage();

    assertEquals("7", row.getSlowestTaskExecutorId());
    assertEquals("h7", row.getSlowestTaskHost());
  }

  /**
   * If a value of the slowest task is unknown, its column and the columns derived from it are
   * absent.
   */
  @Test
  void unknownColumnsAreAbsent() throws Exception {
    StageLive row =
        fold(new Stage(), window(1).started(4).slowest(slowest(0, 10, null, null, null)))
            .getStage();

    assertFalse(row.hasSlowestTaskBytes());
    assertFalse(row.hasSlowestTaskBytesRatio());
    assertFalse(row.hasSlowestTaskExecutorId());
    assertFalse(row.hasSlowestTaskHost());
    assertFalse(row.hasSlowestTaskLostMs(), "no median yet");
    assertFalse(fold(new Stage(), window(1).started(4)).getStage().hasSlowestTaskMs());
  }

  /**
   * A task that makes progress has a row in its first window and every 30 s; a restore changes
   * nothing.
   */
  @Test
  void movingTaskHasARowEveryHalfMinute() throws Exception {
    assertEquals(List.of(1, 7, 13), windowsWithRows(14, window -> "moving"));
  }

  /** A task that stops moving has a row in each window, and for a minute after it moves again. */
  @Test
  void stalledTaskHasARowInEachWindow() throws Exception {
    List<Integer> rows =
        windowsWithRows(23, window -> window == 4 ? "idle" : window == 5 ? "busy" : "moving");

    List<Integer> minute = IntStream.rangeClosed(4, 16).boxed().toList();
    assertEquals(1, rows.get(0));
    assertEquals(minute, rows.subList(1, 14));
    assertEquals(List.of(19), rows.subList(14, rows.size()));
  }

  /** If the activity of a task is not known, the task has a row in each window. */
  @Test
  void taskWithoutActivityHasARowInEachWindow() throws Exception {
    assertEquals(List.of(1, 2, 3), windowsWithRows(3, window -> ""));
  }

  private static List<Integer> windowsWithRows(int windows, IntFunction<String> activity)
      throws Exception {
    Stage stage = new Stage();
    List<Integer> rows = new ArrayList<>();
    for (int number = 1; number <= windows; number++) {
      TaskProgress.Builder progress = progress(9, number * 5000L).toBuilder();
      if (!activity.apply(number).isEmpty()) {
        progress.setActivity(activity.apply(number));
      }
      Window next = window(number).progress(progress.build());
      stage = Stage.restore(StageState.parseFrom(stage.save().toByteArray()), next.endMs);
      StageUpdate update = fold(stage, next);
      assertEquals(update.getTasksCount() == 0, update.getOtherTasksMoved());
      if (update.getTasksCount() == 1) {
        rows.add(number);
      }
    }
    return rows;
  }

  /** A task that outlives its stage is reported while it is active, but is not the slowest task. */
  @Test
  void reportsTasksThatOutliveTheirStage() throws Exception {
    Stage stage = new Stage();
    fold(
        stage,
        window(1).started(2).slowest(slowest(0, 70, 1L, "1", "h1")).progress(progress(9, 1)));
    StageUpdate runs = fold(stage, window(2).progress(progress(9, 5000)));
    StageUpdate end = fold(stage, window(3).ended().progress(progress(9, 10_000)));
    TaskLive last = null;
    // Far longer than the grace of a stage; saved and restored as in the job.
    for (int window = 4; window < 4 + 3600 / 5; window++) {
      Window next = window(window).progress(progress(9, window * 5000L));
      stage = Stage.restore(StageState.parseFrom(stage.save().toByteArray()), next.endMs);
      StageUpdate update = fold(stage, next);
      last = update.getTasks(0);

      assertEquals(70, update.getStage().getSlowestTaskMs());
      assertEquals("succeeded", update.getStage().getStatus());
    }

    assertFalse(runs.getTasks(0).hasOutlivedMs());
    assertEquals(5000, runs.getStage().getSlowestTaskMs());
    assertEquals(0, end.getTasks(0).getOutlivedMs());
    assertEquals(720 * 5000, last.getOutlivedMs());
  }

  /** The time by which a task outlived its stage does not depend on the driver's clock. */
  @Test
  void measuresOutlivedByTheBrokerClock() throws Exception {
    Stage stage = new Stage();
    fold(stage, window(1).started(2));
    fold(stage, window(2).endedAt(T0 - 3_600_000));
    StageUpdate later = fold(stage, window(4).progress(progress(9, 1)));

    assertEquals(10_000, later.getTasks(0).getOutlivedMs());
  }

  /**
   * A window emits a row for each failure class that changed in the window, with all failures of
   * that class so far.
   */
  @Test
  void emitsFailureClassesThatChanged() throws Exception {
    Stage stage = new Stage();
    List<FailureLive> first =
        fold(stage, window(1).started(9).failed("IOException", 3, 5).failed("Oops", 3, 6))
            .getFailuresList();
    Stage restored = Stage.restore(StageState.parseFrom(stage.save().toByteArray()), T0);
    List<FailureLive> second =
        fold(restored, window(2).failed("IOException", 3, 7)).getFailuresList();
    List<FailureLive> none = fold(restored, window(3)).getFailuresList();

    assertEquals(List.of("IOException", "Oops"), classes(first));
    assertEquals(List.of("IOException"), classes(second));
    assertEquals(2, second.get(0).getFailedTasks());
    assertEquals(2, second.get(0).getAttemptsMax());
    assertEquals(1, second.get(0).getFailingTasks());
    assertEquals(1, second.get(0).getHosts());
    assertEquals(9, second.get(0).getNumTasks());
    assertEquals(3, second.get(0).getFinishedTasks(), "as many as the stage counts");
    assertEquals(List.of(), none);
  }

  private static List<String> classes(List<FailureLive> failures) {
    return failures.stream().map(FailureLive::getFailureClass).toList();
  }

  private static StageUpdate fold(Stage stage, Window window) {
    return stage.fold(window.build());
  }

  private static TaskProgress progress(long task, long ageMs) {
    return TaskProgress.newBuilder()
        .setTaskId(task)
        .setTaskIndex(1)
        .setAgeMs(ageMs)
        .setExecutorId("7")
        .setHost("h7")
        .build();
  }

  private static SlowestTask slowest(int index, long ms, Long bytes, String executor, String host) {
    SlowestTask.Builder task = SlowestTask.newBuilder().setTaskIndex(index).setMs(ms).setGcMs(12);
    if (bytes != null) {
      task.setBytes(bytes);
    }
    if (executor != null) {
      task.setExecutorId(executor).setHost(host);
    }
    return task.build();
  }

  private static Window window(int number) {
    return new Window(T0 + number * 5000L);
  }

  /** Builds the task changes of one window step by step. */
  private static final class Window {
    private final long endMs;
    private final TaskChanges.Builder tasks = TaskChanges.newBuilder();
    private final Failures failures = new Failures();
    private long failed;
    private SlowestTask slowest;
    private DDSketch median;
    private StageStarted started;
    private StageEnded ended;

    Window(long endMs) {
      this.endMs = endMs;
    }

    Window started(int tasks) {
      started = StageStarted.newBuilder().setNumTasks(tasks).setSubmittedMs(T0).build();
      return this;
    }

    Window ended() {
      return endedAt(endMs);
    }

    Window endedAt(long completedMs) {
      ended = StageEnded.newBuilder().setSucceeded(true).setCompletedMs(completedMs).build();
      return this;
    }

    Window slowest(SlowestTask task) {
      slowest = task;
      return this;
    }

    Window median(long value) {
      median = Sketches.empty();
      median.accept(value);
      return this;
    }

    Window progress(TaskProgress progress) {
      tasks.addProgress(progress);
      return this;
    }

    Window failed(String failureClass, int index, long finishedMs) {
      failed++;
      failures.add(
          TaskEnded.newBuilder()
              .setFailureClass(failureClass)
              .setTaskIndex(index)
              .setFinishedMs(finishedMs)
              .setHost("h1")
              .build());
      return this;
    }

    StageWindow build() {
      return new StageWindow(
          endMs,
          3,
          0,
          StageLive.newBuilder().setFinishedTasks(failed).setFailedTasks(failed).build(),
          0,
          null,
          null,
          median,
          median,
          null,
          slowest,
          failures.isEmpty() ? FailedTasks.getDefaultInstance() : failures.save(),
          null,
          0,
          tasks.build(),
          started,
          ended);
    }
  }
}
