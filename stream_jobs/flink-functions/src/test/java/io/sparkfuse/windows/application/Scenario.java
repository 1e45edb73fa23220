package io.sparkfuse.windows.application;

import io.sparkfuse.contracts.AppLive;
import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.ExecutorLive;
import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.StreamingProgress;
import io.sparkfuse.windows.aggregates.LaneSequences;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.LatestFact;
import io.sparkfuse.windows.wire.LatestFacts;
import io.sparkfuse.windows.wire.StageUpdate;
import io.sparkfuse.windows.wire.WaitingRow;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs an application window by window, and saves and restores its state between windows as the job
 * does.
 */
final class Scenario {
  static final long WINDOW_MS = 5000;
  static final long START_MS = 900_000;

  private static final LiveRow ENVELOPE =
      LiveRow.newBuilder().setAppId("app-1").setAppStartMs(START_MS).build();

  private final List<WaitingRow> waiting = new ArrayList<>();
  private ApplicationState state = ApplicationState.getDefaultInstance();
  private long endMs = 1_000_000;
  private long reserved;
  private long number;

  /** Adds a fact that the window stores: a start, an end or a resource profile. */
  Scenario fact(Fact.Builder fact) {
    return wait(WaitingRow.newBuilder().setFact(fact.build().toByteString()));
  }

  /** Adds a batch of a streaming query. */
  Scenario fact(StreamingProgress.Builder batch) {
    return fact(Fact.newBuilder().setStreamingProgress(batch));
  }

  /** Adds the next numbered fact of a collector. */
  Scenario numbered(String collector) {
    LaneSequences lanes = new LaneSequences();
    lanes.add(collector, "bulk", number++);
    return wait(WaitingRow.newBuilder().setLanes(lanes.save()));
  }

  /** Adds facts of a collector with these sequence numbers, in the lane `bulk`. */
  Scenario numbers(String collector, long... numbers) {
    LaneSequences lanes = new LaneSequences();
    for (long each : numbers) {
      lanes.add(collector, "bulk", each);
    }
    return wait(WaitingRow.newBuilder().setLanes(lanes.save()));
  }

  /** Adds a numbered fact in the lane of starts and ends, after some facts that never arrive. */
  Scenario afterLost(String collector, int lost) {
    LaneSequences lanes = new LaneSequences();
    reserved += lost;
    lanes.add(collector, "reserved", reserved++);
    return wait(WaitingRow.newBuilder().setLanes(lanes.save()));
  }

  Scenario sample(ExecutorSample.Builder sample) {
    return wait(WaitingRow.newBuilder().setSamples(latest(sample)));
  }

  /** Adds a health fact of a collector. */
  Scenario health(String collector, CollectorHealth.Builder health) {
    Fact fact = Fact.newBuilder().setCollector(collector).setCollectorHealth(health).build();
    return wait(WaitingRow.newBuilder().setHealth(latest(fact)));
  }

  Scenario pause(ExecutorSample.Builder sample) {
    return wait(WaitingRow.newBuilder().setPauses(latest(sample)));
  }

  Scenario stage(StageLive.Builder stage) {
    return stage(StageUpdate.newBuilder().setStage(stage));
  }

  Scenario stage(StageUpdate.Builder update) {
    return wait(WaitingRow.newBuilder().setStage(update));
  }

  /** Ends the window and returns its rows; a window without inputs is quiet. */
  List<LiveRow> pass() throws Exception {
    endMs += WINDOW_MS;
    if (waiting.isEmpty()) {
      wait(WaitingRow.newBuilder().setQuiet(true));
    }
    Application application =
        Application.restore(ApplicationState.parseFrom(state.toByteArray()), endMs);
    ApplicationRows rows = new ApplicationRows(application, ENVELOPE, endMs);
    waiting.forEach(rows::add);
    waiting.clear();
    List<LiveRow> emitted = rows.build();
    state = application.save();
    return emitted;
  }

  /** Skips windows without a tick, as if the broker or the job was not available. */
  Scenario away(int windows) {
    endMs += windows * WINDOW_MS;
    return this;
  }

  /** Emits the last window again, as for a late fact. */
  List<LiveRow> passAgain() throws Exception {
    endMs -= WINDOW_MS;
    return pass();
  }

  /** Ends the window and returns the application's row; null if there is none. */
  AppLive passForApplication() throws Exception {
    return application(pass());
  }

  long endMs() {
    return endMs;
  }

  int stateBytes() {
    return state.getSerializedSize();
  }

  static AppLive application(List<LiveRow> rows) {
    return rows.stream()
        .filter(LiveRow::hasApplication)
        .map(LiveRow::getApplication)
        .findFirst()
        .orElse(null);
  }

  static List<ExecutorLive> executors(List<LiveRow> rows) {
    return rows.stream().filter(LiveRow::hasExecutor).map(LiveRow::getExecutor).toList();
  }

  private Scenario wait(WaitingRow.Builder row) {
    waiting.add(row.setWindowMs(WINDOW_MS).build());
    return this;
  }

  private static LatestFacts latest(ExecutorSample.Builder sample) {
    return latest(Fact.newBuilder().setExecutorSample(sample).build());
  }

  private static LatestFacts latest(Fact fact) {
    return LatestFacts.newBuilder()
        .addLatest(LatestFact.newBuilder().setFact(fact.toByteString()))
        .build();
  }
}
