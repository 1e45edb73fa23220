package io.sparkfuse.windows.application;

import io.sparkfuse.contracts.AppLive;
import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.ExecutorLive;
import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.windows.aggregates.LaneSequences;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.LatestFact;
import io.sparkfuse.windows.wire.LatestFacts;
import io.sparkfuse.windows.wire.StageUpdate;
import io.sparkfuse.windows.wire.WaitingRow;
import java.util.ArrayList;
import java.util.List;

/** An application window by window, saved and restored between them as in the job. */
final class Scenario {
  static final long WINDOW_MS = 5000;
  static final long START_MS = 900_000;

  private static final LiveRow ENVELOPE =
      LiveRow.newBuilder().setAppId("app-1").setAppStartMs(START_MS).build();

  private final List<WaitingRow> waiting = new ArrayList<>();
  private ApplicationState state = ApplicationState.getDefaultInstance();
  private long endMs = 1_000_000;
  private long number;

  /** A start, an end, or what executors may have. */
  Scenario fact(Fact.Builder fact) {
    return wait(WaitingRow.newBuilder().setFact(fact.build().toByteString()));
  }

  /** The next numbered fact of a collector. */
  Scenario word(String collector) {
    LaneSequences lanes = new LaneSequences();
    lanes.add(collector, "bulk", number++);
    return wait(WaitingRow.newBuilder().setLanes(lanes.save()));
  }

  Scenario sample(ExecutorSample.Builder sample) {
    return wait(WaitingRow.newBuilder().setSamples(latest(sample)));
  }

  /** How a collector says that it stands. */
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

  Scenario stage(StageUpdate.Builder news) {
    return wait(WaitingRow.newBuilder().setStage(news));
  }

  /** The window ends; without a word before it is one of which only the pipeline's clock told. */
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
    List<LiveRow> told = rows.build();
    state = application.save();
    return told;
  }

  /** Windows of which nobody told: broker or job were away. */
  Scenario away(int windows) {
    endMs += windows * WINDOW_MS;
    return this;
  }

  /** A window passes again, since something came late that belongs to it. */
  List<LiveRow> passAgain() throws Exception {
    endMs -= WINDOW_MS;
    return pass();
  }

  /** The application's row of the window; null when there is none. */
  AppLive passed() throws Exception {
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
