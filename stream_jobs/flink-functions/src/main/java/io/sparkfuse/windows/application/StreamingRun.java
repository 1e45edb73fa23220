package io.sparkfuse.windows.application;

import io.sparkfuse.contracts.StreamingEnded;
import io.sparkfuse.contracts.StreamingLive;
import io.sparkfuse.contracts.StreamingProgress;
import io.sparkfuse.contracts.StreamingStarted;
import io.sparkfuse.windows.aggregates.Failures;
import io.sparkfuse.windows.rows.CommonFields;
import io.sparkfuse.windows.wire.StreamState;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** One run of a streaming query: its last batch, and what changed over its batches. */
final class StreamingRun {
  /** The lag of an hour shows whether it is worked off. [ms] */
  private static final long LAG_HORIZON_MS = 3_600_000;

  /** State also grows during the hours of a window, so it is compared over a longer time. [ms] */
  private static final long STATE_HORIZON_MS = 21_600_000;

  /** Units to which event times are often rounded. [ms] */
  private static final List<Long> UNITS_MS = List.of(86_400_000L, 3_600_000L, 60_000L);

  private final StreamingLive.Builder soFar;
  private final List<Long> behindDurationsMs = new ArrayList<>();
  private final Growth lag;
  private final Growth state;
  private long totalInputRows;
  private long behindSinceMs;
  private long stillSinceMs;
  private long eventTimeMaxMs;
  boolean changed;

  StreamingRun(StreamState saved) {
    soFar = saved.getSoFar().toBuilder();
    behindDurationsMs.addAll(saved.getBehindDurationsMsList());
    lag = Growth.restore(saved.getLag(), LAG_HORIZON_MS);
    state = Growth.restore(saved.getState(), STATE_HORIZON_MS);
    totalInputRows = saved.getTotalInputRows();
    behindSinceMs = saved.getBehindSinceMs();
    stillSinceMs = saved.getStillSinceMs();
    eventTimeMaxMs = saved.getEventTimeMaxMs();
  }

  StreamState save() {
    return StreamState.newBuilder()
        .setSoFar(soFar)
        .addAllBehindDurationsMs(behindDurationsMs)
        .setLag(lag.save())
        .setState(state.save())
        .setTotalInputRows(totalInputRows)
        .setBehindSinceMs(behindSinceMs)
        .setStillSinceMs(stillSinceMs)
        .setEventTimeMaxMs(eventTimeMaxMs)
        .build();
  }

  String queryId() {
    return soFar.getStreamingId();
  }

  boolean hasEnded() {
    return soFar.hasStatus() && !"running".equals(soFar.getStatus());
  }

  /** Whether the query has a row in each window: it has had a batch and does not wait for data. */
  boolean works() {
    return soFar.hasBatchId() && !soFar.getIdle();
  }

  StreamingLive row() {
    return soFar.build();
  }

  /** Last known time of the run: its last trigger, or else its start. [ms since epoch] */
  long lastMs() {
    return Math.max(soFar.getTriggeredMs(), soFar.getStartedMs());
  }

  void identify(String queryId, String runId, String name) {
    if (hasEnded()) {
      return;
    }
    soFar.setStreamingId(Failures.capped(queryId)).setStreamingRunId(Failures.capped(runId));
    if (!name.isEmpty() || !soFar.hasStreamingName()) {
      soFar.setStreamingName(Failures.capped(name.isEmpty() ? queryId : name));
    }
    if (!soFar.hasStatus()) {
      soFar.setStatus("running");
    }
    changed = true;
  }

  void add(StreamingStarted started) {
    if (started.hasStartedMs()) {
      soFar.setStartedMs(started.getStartedMs());
    }
    if (started.hasTriggerIntervalMs()) {
      soFar.setTriggerIntervalMs(started.getTriggerIntervalMs());
    }
  }

  /** Ends the run. Its row has no values over several batches, because no batch follows. */
  void add(StreamingEnded ended) {
    changed = true;
    StreamingLive before = soFar.build();
    soFar.clear();
    soFar
        .setStreamingId(before.getStreamingId())
        .setStreamingRunId(before.getStreamingRunId())
        .setStreamingName(before.getStreamingName())
        .setTriggeredMs(before.getTriggeredMs())
        .setBatches(before.getBatches())
        .setStatus(ended.hasFailureReason() ? "failed" : "stopped");
    if (before.hasStartedMs()) {
      soFar.setStartedMs(before.getStartedMs());
    }
    if (ended.hasFailureReason()) {
      soFar.setFailureReason(Failures.capped(ended.getFailureReason()));
    }
  }

  /** Adds a batch, or that the query waits for data. A batch that is not newer changes nothing. */
  void add(StreamingProgress progress) {
    boolean old = soFar.hasTriggeredMs() && progress.getTriggeredMs() <= soFar.getTriggeredMs();
    if (old || hasEnded()) {
      return;
    }
    soFar.setIdle(progress.getInputRows() <= 0);
    if (soFar.getIdle()) {
      endBehind();
    }
    if (progress.hasBatchId()) {
      addBatch(progress);
    }
  }

  private void addBatch(StreamingProgress batch) {
    long endMs = batch.getTriggeredMs() + Math.max(0, batch.getBatchDurationMs());
    totalInputRows += Math.max(0, batch.getInputRows());
    eventTimeMaxMs = Math.max(eventTimeMaxMs, batch.getEventTimeMaxMs());
    boolean still = hasSameWatermark(batch);
    addWatermark(batch, endMs);
    copy(batch);
    if (batch.getInputRows() > 0) {
      soFar.setBatches(soFar.getBatches() + 1);
      addDuration(batch, endMs);
    }
    if (batch.hasSourceLagRecords()) {
      soFar.setLagRecords(batch.getSourceLagRecords());
      lag.add(sample(endMs, batch.getSourceLagRecords()));
      fillLag();
    }
    if (batch.hasStateRows()) {
      addState(sample(endMs, batch.getStateRows()), still);
      fillState();
    }
  }

  private void copy(StreamingProgress batch) {
    soFar
        .clearInputRowsPerSecond()
        .clearProcessedRowsPerSecond()
        .clearLagBytes()
        .clearAddBatchMs()
        .clearLatestOffsetMs();
    long dropped = soFar.getDroppedByWatermarkRows() + batch.getDroppedByWatermarkRows();
    CommonFields.copy(batch.toBuilder().clearSources().build(), soFar);
    if (batch.hasDroppedByWatermarkRows()) {
      soFar.setDroppedByWatermarkRows(dropped);
    }
    if (batch.hasSourceLagBytes()) {
      soFar.setLagBytes(batch.getSourceLagBytes());
    }
    if (batch.getSourcesCount() > 0) {
      soFar.setSources(Failures.capped(String.join(", ", batch.getSourcesList())));
    }
  }

  /**
   * Adds the state after a batch. Only a watermark that moves removes rows, so the state between
   * two movements grows in each query; the lowest state after each movement is compared.
   */
  private void addState(Growth.Sample sample, boolean still) {
    if (still) {
      state.lowerLast(sample);
    } else {
      state.add(sample);
    }
  }

  private boolean hasSameWatermark(StreamingProgress batch) {
    return batch.hasWatermarkMs()
        && soFar.hasWatermarkMs()
        && batch.getWatermarkMs() == soFar.getWatermarkMs();
  }

  private Growth.Sample sample(long endMs, long value) {
    return new Growth.Sample(endMs, value, totalInputRows, soFar.getWatermarkMs());
  }

  private void addDuration(StreamingProgress batch, long endMs) {
    if (!isBehind(batch)) {
      endBehind();
      return;
    }
    if (behindDurationsMs.isEmpty()) {
      behindSinceMs = batch.getTriggeredMs();
    }
    behindDurationsMs.add(batch.getBatchDurationMs());
    if (behindDurationsMs.size() > Growth.MAX_SAMPLES) {
      behindDurationsMs.remove(0);
    }
    soFar
        .setBehindBatches(soFar.getBehindBatches() + 1)
        .setBehindMs(Math.max(0, endMs - behindSinceMs));
    int third = behindDurationsMs.size() / 3;
    if (behindDurationsMs.size() >= Growth.MIN_SAMPLES) {
      int all = behindDurationsMs.size();
      double first = Collections.min(behindDurationsMs.subList(0, third));
      double last = Collections.min(behindDurationsMs.subList(all - third, all));
      soFar.setBehindDurationRatio(last / Math.max(1, first));
    }
  }

  private boolean isBehind(StreamingProgress batch) {
    long interval = soFar.getTriggerIntervalMs();
    if (interval > 0) {
      return batch.getBatchDurationMs() > interval;
    }
    return batch.hasProcessedRowsPerSecond()
        && batch.getProcessedRowsPerSecond() < batch.getInputRowsPerSecond();
  }

  private void endBehind() {
    behindDurationsMs.clear();
    soFar.setBehindBatches(0).setBehindMs(0).clearBehindDurationRatio();
  }

  private void addWatermark(StreamingProgress batch, long endMs) {
    if (!batch.hasWatermarkMs()) {
      return;
    }
    soFar.setEventTimeUnitMs(unitMs(eventTimeMaxMs));
    if (!hasSameWatermark(batch)) {
      // The first movement is from 1970 to the data, so the time before it is no usual pause.
      if (soFar.getWatermarkMs() > 0) {
        long longest = Math.max(soFar.getWatermarkLongestStillMs(), soFar.getWatermarkStillMs());
        soFar.setWatermarkLongestStillMs(longest);
      }
      stillSinceMs = 0;
      soFar.setWatermarkStillMs(0).setWatermarkStillBatches(0).setWatermarkStillRows(0);
    } else if (batch.getInputRows() > 0) {
      stillSinceMs = stillSinceMs == 0 ? batch.getTriggeredMs() : stillSinceMs;
      soFar
          .setWatermarkStillMs(Math.max(0, endMs - stillSinceMs))
          .setWatermarkStillBatches(soFar.getWatermarkStillBatches() + 1)
          .setWatermarkStillRows(soFar.getWatermarkStillRows() + batch.getInputRows());
    }
  }

  private static long unitMs(long eventTimeMs) {
    return UNITS_MS.stream()
        .filter(unit -> eventTimeMs > 0 && eventTimeMs % unit == 0)
        .findFirst()
        .orElse(0L);
  }

  private void fillLag() {
    Growth.Rise rise = lag.rise();
    soFar.setLagGrowthMs(rise.spanMs()).setLagGrowthSamples(rise.size());
    soFar.clearLagGrowthFirstRecords().clearLagGrowthSecondRecords().clearLagGrowthThirdRecords();
    Growth.Thirds thirds = rise.thirds();
    if (thirds != null) {
      soFar
          .setLagGrowthFirstRecords(thirds.first())
          .setLagGrowthSecondRecords(thirds.second())
          .setLagGrowthThirdRecords(thirds.third());
    }
    double rate = soFar.getProcessedRowsPerSecond();
    if (rate > 0) {
      soFar.setLagWorkMs((long) Math.min(1e15, 1_000 * soFar.getLagRecords() / rate));
    }
  }

  private void fillState() {
    Growth.Rise rise = state.rise();
    soFar.setStateGrowthMs(rise.spanMs()).setStateGrowthSamples(rise.size());
    soFar.clearStateGrowthFirstRows().clearStateGrowthSecondRows().clearStateGrowthThirdRows();
    soFar.clearStateGrowthInputRatio().clearStateGrowthWatermarks();
    Growth.Thirds thirds = rise.thirds();
    if (thirds == null) {
      return;
    }
    soFar
        .setStateGrowthFirstRows(thirds.first())
        .setStateGrowthSecondRows(thirds.second())
        .setStateGrowthThirdRows(thirds.third());
    Double ratio = rise.inputRatio();
    if (ratio != null) {
      soFar.setStateGrowthInputRatio(ratio);
    }
    Long movedMs = rise.watermarkMovedMs();
    if (movedMs != null) {
      double delayMs = Math.max(1, eventTimeMaxMs - soFar.getWatermarkMs());
      soFar.setStateGrowthWatermarks(movedMs / delayMs);
    }
  }
}
