package io.sparkfuse.windows.application;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.contracts.StreamingEnded;
import io.sparkfuse.contracts.StreamingLive;
import io.sparkfuse.contracts.StreamingProgress;
import io.sparkfuse.contracts.StreamingStarted;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ApplicationStreamsTest {
  private static final long T = 1_000_000;
  private static final long INTERVAL_MS = 10_000;

  private final Scenario scenario = new Scenario();

  /** The row has the columns of the start and of the last batch. */
  @Test
  void rowHasTheLastBatch() throws Exception {
    scenario.fact(started("r1", INTERVAL_MS));
    scenario.fact(
        batch("r1", 4, 0, 3_000)
            .setAddBatchMs(2_000)
            .setInputRowsPerSecond(10)
            .setProcessedRowsPerSecond(33.3)
            .setSourceLagBytes(7)
            .setDroppedByWatermarkRows(3)
            .addSources("KafkaV2[Subscribe[orders]]")
            .addSources("Rate"));

    StreamingLive row = stream(scenario.pass());

    assertEquals(
        StreamingLive.newBuilder()
            .setStreamingId("q")
            .setStreamingRunId("r1")
            .setStreamingName("orders")
            .setStatus("running")
            .setIdle(false)
            .setBatchId(4)
            .setTriggeredMs(T)
            .setBatchDurationMs(3_000)
            .setAddBatchMs(2_000)
            .setTriggerIntervalMs(INTERVAL_MS)
            .setInputRows(100)
            .setInputRowsPerSecond(10)
            .setProcessedRowsPerSecond(33.3)
            .setLagBytes(7)
            .setDroppedByWatermarkRows(3)
            .setSources("KafkaV2[Subscribe[orders]], Rate")
            .setStartedMs(T - 1)
            .setBatches(1)
            .setBehindBatches(0)
            .setBehindMs(0)
            .build(),
        row);
  }

  /** A query that works has a row in each window; a query that waits for data has none. */
  @Test
  void workingQueryHasARowInEachWindow() throws Exception {
    scenario.fact(started("r1", 0)).fact(batch("r1", 0, 0, 3_000)).pass();

    assertEquals(1, streams(scenario.numbered("driver-1").pass()).size());
    StreamingProgress.Builder idle =
        StreamingProgress.newBuilder().setQueryId("q").setRunId("r1").setTriggeredMs(T + 9_000);
    assertTrue(stream(scenario.fact(idle).pass()).getIdle());
    assertEquals(List.of(), streams(scenario.numbered("driver-1").pass()));
  }

  /** Batches that take longer than the interval are counted until one is shorter. */
  @Test
  void countsBatchesLongerThanTheInterval() throws Exception {
    scenario.fact(started("r1", INTERVAL_MS)).fact(batch("r1", 0, 0, 9_000));
    for (int number = 1; number <= 6; number++) {
      scenario.fact(batch("r1", number, 15_000L * number, 15_000)).pass();
    }
    StreamingLive behind = stream(scenario.fact(batch("r1", 7, 105_000, 30_000)).pass());

    assertEquals(List.of(7L, 120_000L), List.of(behind.getBehindBatches(), behind.getBehindMs()));
    assertEquals(1.0, behind.getBehindDurationRatio());
    StreamingLive after = stream(scenario.fact(batch("r1", 8, 135_000, 9_000)).pass());
    assertEquals(List.of(0L, 0L), List.of(after.getBehindBatches(), after.getBehindMs()));
    assertFalse(after.hasBehindDurationRatio());
  }

  /** Without an interval, a batch is behind if more rows arrived per second than it processed. */
  @Test
  void withoutAnIntervalTheRatesCount() throws Exception {
    scenario.fact(started("r1", 0));
    scenario.fact(batch("r1", 0, 0, 500).setInputRowsPerSecond(9).setProcessedRowsPerSecond(8));
    assertEquals(1, stream(scenario.pass()).getBehindBatches());
    scenario.fact(batch("r1", 1, 500, 500).setInputRowsPerSecond(8).setProcessedRowsPerSecond(8));

    assertEquals(0, stream(scenario.pass()).getBehindBatches());
  }

  /** The lag grows from its lowest point; a lower lag starts again. */
  @Test
  void lagGrowsFromItsLowestPoint() throws Exception {
    long[] lags = {900, 20, 10, 100, 200, 300, 400, 500, 600, 700, 800, 900};
    StreamingLive row = null;
    for (int number = 0; number < lags.length; number++) {
      row = stream(scenario.fact(lag(number, lags[number])).pass());
    }

    assertEquals(List.of(10L, 90_000L), List.of(row.getLagGrowthSamples(), row.getLagGrowthMs()));
    assertEquals(
        List.of(10L, 300L, 600L),
        List.of(
            row.getLagGrowthFirstRecords(),
            row.getLagGrowthSecondRecords(),
            row.getLagGrowthThirdRecords()));
    assertEquals(18_000, row.getLagWorkMs());
    StreamingLive workedOff = stream(scenario.fact(lag(12, 10)).pass());
    assertEquals(1, workedOff.getLagGrowthSamples());
    assertFalse(workedOff.hasLagGrowthThirdRecords());
  }

  /** A rise begins at the last low value, and not at the lowest one of a long time. */
  @Test
  void riseBeginsAtTheLastLowValue() throws Exception {
    StreamingLive row = null;
    for (int number = 0; number < 40; number++) {
      long records = number < 30 ? 100 + number % 7 : 1_000L * (number - 29);
      row = stream(scenario.fact(lag(number, records)).pass());
    }

    assertEquals(90_000, row.getLagGrowthMs());
    assertEquals(10, row.getLagGrowthSamples());
  }

  /** Time without movement counts only while rows arrive; the first movement is no usual pause. */
  @Test
  void watermarkIsStillWhileRowsArrive() throws Exception {
    scenario.fact(batch("r1", 0, 0, 1_000).setWatermarkMs(0));
    scenario.fact(batch("r1", 1, 10_000, 1_000).setWatermarkMs(0));
    scenario.fact(batch("r1", 2, 20_000, 1_000).setWatermarkMs(5_000));
    assertEquals(0, stream(scenario.pass()).getWatermarkLongestStillMs());
    scenario.fact(batch("r1", 3, 30_000, 1_000).setWatermarkMs(5_000).setInputRows(0));
    assertEquals(0, stream(scenario.pass()).getWatermarkStillMs());
    scenario.fact(batch("r1", 4, 40_000, 1_000).setWatermarkMs(5_000));
    scenario.fact(batch("r1", 5, 50_000, 1_000).setWatermarkMs(5_000));
    StreamingLive still = stream(scenario.pass());
    StreamingLive moved =
        stream(scenario.fact(batch("r1", 6, 60_000, 1_000).setWatermarkMs(6_000)).pass());

    assertEquals(
        List.of(11_000L, 2L, 200L),
        List.of(
            still.getWatermarkStillMs(),
            still.getWatermarkStillBatches(),
            still.getWatermarkStillRows()));
    assertEquals(
        List.of(0L, 11_000L),
        List.of(moved.getWatermarkStillMs(), moved.getWatermarkLongestStillMs()));
  }

  /** Event times that are rounded to a unit move the watermark once in this time. */
  @Test
  void latestEventTimeShowsItsUnit() throws Exception {
    long day = 86_400_000;
    List<Long> units = new ArrayList<>();
    long[] times = {0, day + 1, 2 * day, 2 * day + 7_200_000, 2 * day + 7_260_000, 3 * day - 500};
    for (int number = 0; number < times.length; number++) {
      StreamingProgress.Builder batch = batch("r1", number, 10_000L * number, 1_000);
      batch.setWatermarkMs(times[number] / 2).setEventTimeMaxMs(times[number]);
      units.add(stream(scenario.fact(batch).pass()).getEventTimeUnitMs());
    }

    assertEquals(List.of(0L, 0L, day, 3_600_000L, 60_000L, 0L), units);
  }

  /** The growth of the state comes with the input and the movement of the watermark. */
  @Test
  void stateGrowsWithInputAndWatermark() throws Exception {
    StreamingLive row = null;
    for (int number = 0; number < 13; number++) {
      StreamingProgress.Builder batch =
          batch("r1", number, 10_000L * number, 1_000)
              .setStateRows(100L * number)
              .setWatermarkMs(number == 0 ? 0 : T + 10_000L * number)
              .setEventTimeMaxMs(T + 10_000L * number + 20_000);
      row = stream(scenario.fact(batch).pass());
    }

    assertEquals(
        List.of(110_000L, 12L, 100L, 500L, 900L),
        List.of(
            row.getStateGrowthMs(),
            row.getStateGrowthSamples(),
            row.getStateGrowthFirstRows(),
            row.getStateGrowthSecondRows(),
            row.getStateGrowthThirdRows()));
    assertEquals(1.0, row.getStateGrowthInputRatio(), 1e-9);
    assertEquals(5.5, row.getStateGrowthWatermarks(), 1e-9);
  }

  /**
   * A watermark that moves once a minute removes rows once a minute; the growth between is none.
   */
  @Test
  void stateIsComparedAfterMovementsOfTheWatermark() throws Exception {
    StreamingLive row = null;
    for (int number = 0; number < 6 * 15 + 5; number++) {
      StreamingProgress.Builder batch = minutes(number).setStateRows(100L * (1 + number % 6));
      row = stream(scenario.fact(batch).pass());
    }

    assertEquals(0, row.getStateGrowthMs(), "each movement returns the state to 100 rows");
    assertFalse(row.hasStateGrowthThirdRows());
  }

  /** A state that no movement of the watermark returns to its lowest values grows. */
  @Test
  void stateGrowsAcrossMovementsOfTheWatermark() throws Exception {
    StreamingLive row = null;
    for (int number = 0; number < 6 * 15 + 5; number++) {
      StreamingProgress.Builder batch = minutes(number).setStateRows(100L * (1 + number));
      row = stream(scenario.fact(batch).pass());
    }

    assertEquals(
        List.of(15L, 840_000L), List.of(row.getStateGrowthSamples(), row.getStateGrowthMs()));
    assertEquals(
        List.of(700L, 3_700L, 6_700L),
        List.of(
            row.getStateGrowthFirstRows(),
            row.getStateGrowthSecondRows(),
            row.getStateGrowthThirdRows()));
  }

  /** The samples are bounded; the lowest point and the direction remain. */
  @Test
  void samplesAreBounded() throws Exception {
    StreamingLive row = null;
    for (int number = 0; number < 300; number++) {
      row = stream(scenario.fact(lag(number, 100 + number)).pass());
    }

    assertTrue(row.getLagGrowthSamples() <= Growth.MAX_SAMPLES);
    assertEquals(2_700_000, row.getLagGrowthMs(), 100_000);
    assertEquals(129, row.getLagGrowthFirstRecords(), 10);
    assertEquals(219, row.getLagGrowthSecondRecords(), 10);
    assertEquals(309, row.getLagGrowthThirdRecords(), 10);
    for (int number = 300; number < 900; number++) {
      row = stream(scenario.fact(lag(number, 1_000)).pass());
    }
    assertEquals(0, row.getLagGrowthMs(), "constant for longer than the horizon");
  }

  /** The end has a row without values over several batches; late batches change nothing. */
  @Test
  void endedQueryIgnoresLateBatches() throws Exception {
    scenario.fact(started("r1", 1_000)).fact(batch("r1", 0, 0, 3_000)).pass();
    StreamingLive ended = stream(scenario.fact(ended("r1", "boom")).pass());

    assertEquals(
        List.of("failed", "boom", "orders"),
        List.of(ended.getStatus(), ended.getFailureReason(), ended.getStreamingName()));
    assertFalse(ended.hasBehindBatches());
    assertEquals(List.of(), streams(scenario.fact(batch("r1", 1, 3_000, 3_000)).pass()));
    assertEquals(List.of(), streams(scenario.numbered("driver-1").pass()));
  }

  /** A restart replaces the earlier run, whose late facts are ignored. */
  @Test
  void restartReplacesTheEarlierRun() throws Exception {
    scenario.fact(started("r1", 1_000)).fact(batch("r1", 0, 0, 3_000)).pass();
    Fact.Builder again = started("r2", 1_000);
    again.getStreamingStartedBuilder().setStartedMs(T + 60_000);
    scenario.fact(again).fact(batch("r1", 1, 3_000, 3_000)).fact(ended("r1", null));
    StreamingLive row = stream(scenario.pass());

    assertEquals("r2", row.getStreamingRunId());
    assertFalse(row.hasBatchId());
    assertEquals(
        "r2", stream(scenario.fact(batch("r2", 2, 61_000, 100)).pass()).getStreamingRunId());
  }

  /** A batch that arrives twice, or late, changes nothing. */
  @Test
  void olderBatchesChangeNothing() throws Exception {
    scenario.fact(batch("r1", 5, 9_000, 100)).pass();
    scenario.fact(batch("r1", 5, 9_000, 100)).fact(batch("r1", 4, 8_000, 100));

    StreamingLive row = stream(scenario.pass());

    assertEquals(List.of(5L, 1L), List.of(row.getBatchId(), row.getBatches()));
  }

  /** The number of queries is bounded; a query without a name has its id. */
  @Test
  void numberOfQueriesIsBounded() throws Exception {
    for (int number = 0; number < ApplicationStreams.MAX_STREAMS + 9; number++) {
      StreamingProgress.Builder batch = batch("r" + number, 0, 0, 100).setQueryId("q" + number);
      scenario.fact(Fact.newBuilder().setStreamingProgress(batch.clearName()));
    }

    List<StreamingLive> rows = streams(scenario.pass());

    assertEquals(ApplicationStreams.MAX_STREAMS, rows.size());
    assertEquals("q9", rows.get(0).getStreamingName());
  }

  private static Fact.Builder started(String run, long intervalMs) {
    return Fact.newBuilder()
        .setStreamingStarted(
            StreamingStarted.newBuilder()
                .setQueryId("q")
                .setRunId(run)
                .setName("orders")
                .setStartedMs(T - 1)
                .setTriggerIntervalMs(intervalMs));
  }

  private static Fact.Builder ended(String run, String failure) {
    StreamingEnded.Builder ended = StreamingEnded.newBuilder().setQueryId("q").setRunId(run);
    if (failure != null) {
      ended.setFailureReason(failure);
    }
    return Fact.newBuilder().setStreamingEnded(ended);
  }

  private static StreamingProgress.Builder batch(String run, long id, long atMs, long durationMs) {
    return StreamingProgress.newBuilder()
        .setQueryId("q")
        .setRunId(run)
        .setName("orders")
        .setBatchId(id)
        .setTriggeredMs(T + atMs)
        .setBatchDurationMs(durationMs)
        .setInputRows(100);
  }

  /** A batch each ten seconds, whose watermark moves with each sixth one. */
  private static StreamingProgress.Builder minutes(int number) {
    return batch("r1", number, 10_000L * number, 1_000)
        .setWatermarkMs(T + 60_000L * (number / 6))
        .setEventTimeMaxMs(T + 60_000L * (number / 6) + 5_000);
  }

  private static Fact.Builder lag(int number, long records) {
    return Fact.newBuilder()
        .setStreamingProgress(
            batch("r1", number, 10_000L * number, 1_000)
                .setSourceLagRecords(records)
                .setProcessedRowsPerSecond(50));
  }

  private static StreamingLive stream(List<LiveRow> rows) {
    List<StreamingLive> found = streams(rows);
    assertEquals(1, found.size());
    return found.get(0);
  }

  private static List<StreamingLive> streams(List<LiveRow> rows) {
    return rows.stream().filter(LiveRow::hasStreaming).map(LiveRow::getStreaming).toList();
  }
}
