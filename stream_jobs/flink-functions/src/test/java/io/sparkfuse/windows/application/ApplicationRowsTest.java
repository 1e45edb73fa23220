package io.sparkfuse.windows.application;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.sparkfuse.contracts.AppLive;
import io.sparkfuse.contracts.ApplicationEnded;
import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.FailureLive;
import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.contracts.TaskLive;
import io.sparkfuse.contracts.Tick;
import io.sparkfuse.windows.aggregates.LaneSequences;
import io.sparkfuse.windows.stage.Stage;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.LatestFact;
import io.sparkfuse.windows.wire.LatestFacts;
import io.sparkfuse.windows.wire.StageUpdate;
import io.sparkfuse.windows.wire.WaitingRow;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class ApplicationRowsTest {
  private static final long END_MS = 5000;
  private static final LiveRow ENVELOPE = LiveRow.newBuilder().setAppId("app-1").build();

  /** The rows of a window have a fixed order that does not depend on the order of arrival. */
  @Test
  void orderIsIndependentOfArrival() throws Exception {
    List<WaitingRow> waiting =
        new ArrayList<>(
            List.of(
                forwarded(
                    Fact.newBuilder().setApplicationEnded(ApplicationEnded.getDefaultInstance())),
                forwarded(Fact.newBuilder().setStageEnded(StageEnded.getDefaultInstance())),
                forwarded(
                    Fact.newBuilder().setStageStarted(StageStarted.newBuilder().setStageId(9))),
                forwarded(Fact.newBuilder().setJobEnded(JobEnded.newBuilder().setSucceeded(true))),
                stage(4, false, null),
                stage(2, false, null),
                failing(3),
                sample("2"),
                sample("1"),
                forwarded(Fact.newBuilder().setTick(Tick.newBuilder().setSentMs(1))),
                WaitingRow.newBuilder().setQuiet(true).build(),
                numbers(0, 1, 2)));
    List<LiveRow> first = rows(waiting, ApplicationState.getDefaultInstance());
    for (int round = 0; round < 20; round++) {
      Collections.shuffle(waiting, new Random(round));

      assertEquals(first, rows(waiting, ApplicationState.getDefaultInstance()));
    }
    assertEquals(
        List.of(
            "stage_started",
            "executor_live",
            "executor_live",
            "stage_live",
            "stage_live",
            "task_live",
            "stage_live",
            "failure_live",
            "failure_live",
            "app_live",
            "stage_ended",
            "job_ended",
            "application_ended",
            "tick"),
        first.stream().map(LiveRow::getView).toList());
    assertEquals(
        LongStream.rangeClosed(1, 14).boxed().toList(),
        first.stream().map(LiveRow::getRowSeq).toList());
    assertEquals(2, first.get(3).getStage().getStageId());
  }

  /** A missing fact lowers the completeness of every row until the fact arrives late. */
  @Test
  void lateFactRestoresCompleteness() throws Exception {
    Application application = Application.restore(ApplicationState.getDefaultInstance(), END_MS);
    LiveRow holed = last(application, List.of(numbers(0, 1, 3)));
    LiveRow whole = last(Application.restore(application.save(), END_MS), List.of(numbers(2)));

    assertEquals(0.75, holed.getCompleteness());
    assertEquals(1.0, whole.getCompleteness());
    assertEquals(4, whole.getApplication().getFactsSeen());
  }

  /** Events that Spark dropped before the collector numbered them count as missing. */
  @Test
  void countsEventsThatSparkDropped() throws Exception {
    CollectorHealth health =
        CollectorHealth.newBuilder().setSparkDroppedEvents(1).setDroppedBulk(5).build();
    LatestFact latest =
        LatestFact.newBuilder()
            .setFact(
                Fact.newBuilder()
                    .setCollector("driver-1")
                    .setCollectorHealth(health)
                    .build()
                    .toByteString())
            .build();
    WaitingRow waiting =
        WaitingRow.newBuilder().setHealth(LatestFacts.newBuilder().addLatest(latest)).build();
    LiveRow row =
        last(
            Application.restore(ApplicationState.getDefaultInstance(), END_MS),
            List.of(numbers(0, 1, 2), waiting));

    assertEquals(0.75, row.getCompleteness());
    assertEquals(3, row.getApplication().getFactsSeen());
    assertEquals(4, row.getApplication().getFactsExpected());
    assertEquals(6, row.getApplication().getFactsDropped());
  }

  /**
   * If an ended stage lacks task ends, its row is incomplete, even if all numbered facts arrived.
   */
  @Test
  void missingTaskEndsLowerCompleteness() throws Exception {
    List<LiveRow> rows =
        rows(List.of(numbers(0, 1), stage(1, false, 0.5)), ApplicationState.getDefaultInstance());

    assertEquals(0.5, rows.get(0).getCompleteness());
    assertEquals(1.0, rows.get(1).getCompleteness());
  }

  /** If facts were counted twice, the completeness is 0 until the end of the application. */
  @Test
  void doubleCountsSetCompletenessToZero() throws Exception {
    Application application = Application.restore(ApplicationState.getDefaultInstance(), END_MS);
    last(application, List.of(numbers(0), stage(1, true, 1.0)));
    LiveRow later = last(Application.restore(application.save(), END_MS), List.of(numbers(1)));

    assertEquals(0.0, later.getCompleteness());
  }

  /** One tick per window is forwarded; a tick alone produces no row of the application. */
  @Test
  void forwardsOneTickPerWindow() throws Exception {
    List<WaitingRow> waiting = new ArrayList<>();
    for (long sentMs : new long[] {2000, 1000, 3000}) {
      waiting.add(forwarded(Fact.newBuilder().setTick(Tick.newBuilder().setSentMs(sentMs))));
    }
    List<LiveRow> rows = rows(waiting, ApplicationState.getDefaultInstance());

    assertEquals(1, rows.size());
    assertEquals(3000, rows.get(0).getTick().getSentMs());
  }

  /**
   * After the grace period, only the sequence number of the last row is kept, so that no number is
   * reused.
   */
  @Test
  void rowNumbersContinueAfterRemoval() throws Exception {
    Application application = Application.restore(ApplicationState.getDefaultInstance(), END_MS);
    LiveRow last =
        last(
            application,
            List.of(
                forwarded(
                    Fact.newBuilder().setApplicationEnded(ApplicationEnded.getDefaultInstance()))));
    Application later = Application.restore(application.save(), application.forgetAtMs());
    LiveRow next = last(later, List.of(numbers(0)));

    assertEquals(last.getRowSeq() + 1, next.getRowSeq());
    assertEquals(last.getRowEpochMs(), next.getRowEpochMs());
    assertEquals("running", next.getApplication().getStatus());
  }

  /**
   * A saved state keeps its epoch; a new state begins a later epoch and numbers its rows from 1.
   */
  @Test
  void lostStateStartsALaterEpoch() throws Exception {
    Application application = Application.restore(ApplicationState.getDefaultInstance(), END_MS);
    LiveRow first = last(application, List.of(numbers(0)));
    LiveRow restored = at(Application.restore(application.save(), 10_000), 10_000, numbers(1));
    Application lost = Application.restore(ApplicationState.getDefaultInstance(), 15_000);
    LiveRow later = at(lost, 15_000, numbers(1_000));

    assertEquals(
        List.of(END_MS, END_MS, 15_000L),
        List.of(first.getRowEpochMs(), restored.getRowEpochMs(), later.getRowEpochMs()));
    assertEquals(
        List.of(1L, 2L, 1L), List.of(first.getRowSeq(), restored.getRowSeq(), later.getRowSeq()));
  }

  /** Rows of a state that an earlier release saved have no epoch, as before. */
  @Test
  void stateWithoutEpochKeepsItsNumbers() throws Exception {
    ApplicationState saved = ApplicationState.newBuilder().setRows(7).build();
    LiveRow row = last(Application.restore(saved, END_MS), List.of(numbers(50)));

    assertEquals(8, row.getRowSeq());
    assertFalse(row.hasRowEpochMs() || row.hasIncompleteSinceMs());
  }

  /**
   * If the beginning of an application is missing, only rows about subjects that started before the
   * state are incomplete; a stage that starts later has full evidence.
   */
  @Test
  void onlySubjectsWithoutStartAreIncomplete() throws Exception {
    Application application = Application.restore(ApplicationState.getDefaultInstance(), END_MS);
    StageUpdate.Builder started =
        StageUpdate.newBuilder()
            .setStage(StageLive.newBuilder().setStageId(8).setStatus("running"))
            .setStartSeen(true);
    List<LiveRow> rows =
        rows(
            List.of(
                numbers(100, 101, 102, 104),
                stage(7, false, null),
                WaitingRow.newBuilder().setStage(started).build()),
            application);
    LiveRow before = rows.get(0);
    LiveRow since = rows.get(1);
    LiveRow whole = rows.get(2);

    assertEquals(
        List.of(7, 8), List.of(before.getStage().getStageId(), since.getStage().getStageId()));
    assertEquals(4.0 / 105, before.getCompleteness());
    assertEquals(END_MS, before.getIncompleteSinceMs());
    assertEquals(0.8, since.getCompleteness());
    assertFalse(since.hasIncompleteSinceMs());
    assertEquals(END_MS, whole.getIncompleteSinceMs());
    assertEquals(
        List.of(4L, 5L),
        List.of(whole.getApplication().getFactsSeen(), whole.getApplication().getFactsExpected()));
  }

  /** A row without its beginning never counts as complete, however many facts arrived since. */
  @Test
  void completenessWithoutBeginningStaysBelowTheLimit() throws Exception {
    Application application = Application.restore(ApplicationState.getDefaultInstance(), END_MS);
    LiveRow row = last(application, List.of(numbers(LongStream.range(1, 5_000).toArray())));

    assertEquals(Application.WITHOUT_BEGINNING, row.getCompleteness());
    assertEquals(1.0, application.completeness());
  }

  /** A lost first fact of an application whose start arrived counts as lost. */
  @Test
  void lostFirstFactCountsAsLostAfterTheStart() throws Exception {
    Application application = Application.restore(ApplicationState.getDefaultInstance(), END_MS);
    Fact.Builder start =
        Fact.newBuilder().setApplicationStarted(ApplicationStarted.newBuilder().setName("orders"));
    LiveRow row = last(application, List.of(forwarded(start), numbers(1)));

    assertEquals(0.5, row.getCompleteness());
    assertFalse(row.hasIncompleteSinceMs());
  }

  /**
   * Operator rows are summed over the stages that read neither bytes nor records, including stages
   * that were removed from the state.
   */
  @Test
  void sumsOperatorRowsOfStagesWithoutReads() throws Exception {
    Application application = Application.restore(ApplicationState.getDefaultInstance(), END_MS);
    StageLive.Builder first = ended(1).setOperatorRowsMax(1_000);
    StageLive.Builder second = ended(2).setOperatorRowsMax(20);
    StageLive.Builder bytes = ended(3).setOperatorRowsMax(7_000).setFinishedInputBytes(1);
    StageLive.Builder records = ended(4).setOperatorRowsMax(7_000).setFinishedShuffleReadRecords(1);
    AppLive sum = last(application, updates(first, second, bytes, records)).getApplication();
    long later = END_MS + Stage.GRACE_MS;
    Application restored = Application.restore(application.save(), later);
    ApplicationRows rows = new ApplicationRows(restored, ENVELOPE, later);
    updates(ended(5).setOperatorRowsMax(3)).forEach(rows::add);
    List<LiveRow> next = rows.build();

    assertEquals(1_020, sum.getOperatorRows());
    assertEquals(1_023, next.get(next.size() - 1).getApplication().getOperatorRows());
  }

  /**
   * If each stage of an application read bytes or records, the application has no operator rows.
   */
  @Test
  void hasNoOperatorRowsIfAllStagesRead() throws Exception {
    Application application = Application.restore(ApplicationState.getDefaultInstance(), END_MS);
    StageLive.Builder read = ended(1).setOperatorRowsMax(9).setFinishedInputRecords(9);

    assertFalse(last(application, updates(read)).getApplication().hasOperatorRows());
  }

  private static StageLive.Builder ended(int id) {
    return StageLive.newBuilder().setStageId(id).setStatus("succeeded");
  }

  private static List<WaitingRow> updates(StageLive.Builder... stages) {
    return Arrays.stream(stages)
        .map(stage -> StageUpdate.newBuilder().setStage(stage))
        .map(updates -> WaitingRow.newBuilder().setStage(updates).build())
        .toList();
  }

  private static List<LiveRow> rows(List<WaitingRow> waiting, ApplicationState state)
      throws Exception {
    return rows(waiting, Application.restore(state, END_MS));
  }

  private static List<LiveRow> rows(List<WaitingRow> waiting, Application application)
      throws Exception {
    ApplicationRows rows = new ApplicationRows(application, ENVELOPE, END_MS);
    for (WaitingRow row : waiting) {
      rows.add(row);
    }
    return rows.build();
  }

  private static LiveRow at(Application application, long windowEndMs, WaitingRow waiting)
      throws Exception {
    ApplicationRows rows = new ApplicationRows(application, ENVELOPE, windowEndMs);
    rows.add(waiting);
    List<LiveRow> built = rows.build();
    return built.get(built.size() - 1);
  }

  private static LiveRow last(Application application, List<WaitingRow> waiting) throws Exception {
    List<LiveRow> rows = rows(waiting, application);
    return rows.get(rows.size() - 1);
  }

  private static WaitingRow forwarded(Fact.Builder fact) {
    return WaitingRow.newBuilder().setFact(fact.build().toByteString()).build();
  }

  private static WaitingRow stage(int id, boolean overcounted, Double endedShare) {
    StageUpdate.Builder updates =
        StageUpdate.newBuilder()
            .setStage(StageLive.newBuilder().setStageId(id).setStatus("running"))
            .setOvercounted(overcounted);
    if (endedShare != null) {
      updates.setEndedShare(endedShare);
    }
    return WaitingRow.newBuilder().setStage(updates).build();
  }

  private static WaitingRow failing(int id) {
    StageUpdate.Builder updates =
        StageUpdate.newBuilder()
            .setStage(StageLive.newBuilder().setStageId(id).setStatus("running"))
            .addTasks(TaskLive.newBuilder().setStageId(id).setTaskId(1))
            .addFailures(FailureLive.newBuilder().setStageId(id).setFailureClass("A"))
            .addFailures(FailureLive.newBuilder().setStageId(id).setFailureClass("B"));
    return WaitingRow.newBuilder().setStage(updates).build();
  }

  private static WaitingRow sample(String executor) {
    Fact fact =
        Fact.newBuilder()
            .setExecutorSample(ExecutorSample.newBuilder().setExecutorId(executor))
            .build();
    LatestFact latest = LatestFact.newBuilder().setFact(fact.toByteString()).build();
    return WaitingRow.newBuilder().setSamples(LatestFacts.newBuilder().addLatest(latest)).build();
  }

  private static WaitingRow numbers(long... numbers) {
    LaneSequences lanes = new LaneSequences();
    for (long number : numbers) {
      lanes.add("driver-1", "bulk", number);
    }
    return WaitingRow.newBuilder().setLanes(lanes.save()).build();
  }
}
