package io.sparkfuse.windows.application;

import com.google.protobuf.Descriptors.FieldDescriptor;
import io.sparkfuse.contracts.ExecutorLive;
import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.FailureLive;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.contracts.QueryLive;
import io.sparkfuse.contracts.StreamingLive;
import io.sparkfuse.contracts.TaskLive;
import io.sparkfuse.windows.facts.FactParser;
import io.sparkfuse.windows.wire.LatestFact;
import io.sparkfuse.windows.wire.LatestFacts;
import io.sparkfuse.windows.wire.StageUpdate;
import io.sparkfuse.windows.wire.WaitingRow;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * All rows of one application for one window, in the order in which they are emitted: starts, live
 * rows, failures, queries, streaming queries, the application's row, ends, tick.
 *
 * <p>The order does not depend on the order of arrival, so that a replay gives each row the same
 * number.
 */
final class ApplicationRows {
  private static final List<Fact.KindCase> STARTS =
      List.of(
          Fact.KindCase.APPLICATION_STARTED,
          Fact.KindCase.EXECUTOR_ADDED,
          // After the executors, so that a pod's node replaces the address of its executor.
          Fact.KindCase.POD_CHANGED,
          Fact.KindCase.JOB_STARTED,
          Fact.KindCase.SQL_STARTED,
          // Plans come before stages, because the name of a stage is made from its plan.
          Fact.KindCase.SQL_PLAN,
          // Before the row of the query, which gets columns from its plan and metrics.
          Fact.KindCase.SQL_METRICS,
          Fact.KindCase.STAGE_STARTED);
  private static final List<Fact.KindCase> ENDS =
      List.of(
          Fact.KindCase.STAGE_ENDED,
          Fact.KindCase.SQL_ENDED,
          Fact.KindCase.JOB_ENDED,
          Fact.KindCase.EXECUTOR_REMOVED,
          Fact.KindCase.APPLICATION_ENDED);

  private final Application application;
  private final LiveRow envelope;
  private final long windowEndMs;
  private final List<Fact> facts = new ArrayList<>();
  private final List<StageUpdate> stages = new ArrayList<>();
  private final List<ExecutorSample> samples = new ArrayList<>();
  private final List<ExecutorSample> pauses = new ArrayList<>();
  private final List<WaitingRow> collectorRows = new ArrayList<>();
  private final List<LiveRow.Builder> rows = new ArrayList<>();
  private Double completeness;
  private boolean active;
  private long windowMs;

  /** {@code envelope} has the columns that identify the application. */
  ApplicationRows(Application application, LiveRow envelope, long windowEndMs) {
    this.application = application;
    this.envelope = envelope;
    this.windowEndMs = windowEndMs;
  }

  void add(WaitingRow waiting) {
    windowMs = Math.max(windowMs, waiting.getWindowMs());
    Fact fact = waiting.hasFact() ? FactParser.parse(waiting.getFact()) : null;
    if (fact != null) {
      facts.add(fact);
    }
    // The pod watcher reports about pods, so such a fact does not show that the application lives.
    active |= !waiting.getQuiet() && (fact == null || !fact.hasPodChanged());
    if (waiting.hasStage()) {
      stages.add(waiting.getStage());
    }
    if (waiting.hasLanes() || waiting.hasHealth()) {
      collectorRows.add(waiting);
    }
    addSamples(waiting.getSamples(), samples);
    addSamples(waiting.getPauses(), pauses);
  }

  private static void addSamples(LatestFacts latest, List<ExecutorSample> to) {
    for (LatestFact one : latest.getLatestList()) {
      Fact fact = FactParser.parse(one.getFact());
      if (fact.hasExecutorSample()) {
        to.add(fact.getExecutorSample());
      }
    }
  }

  List<LiveRow> build() {
    application.beginWindow(windowEndMs, windowMs, active);
    collectorRows.forEach(this::addCollectorRow);
    facts.forEach(fact -> application.add(fact, windowEndMs));
    stages.forEach(update -> application.add(update, windowEndMs));
    completeness = application.completeness();
    forward(STARTS);
    Long startMs = envelope.hasAppStartMs() ? envelope.getAppStartMs() : null;
    for (ExecutorLive row : application.executorRows(samples, pauses, startMs, windowEndMs)) {
      // Without its start, an executor has no age and no memory limit.
      add("executor_live", row.hasAgeMs()).setExecutor(row);
    }
    addStages();
    addFailures();
    for (QueryLive row : application.queryRows(windowEndMs)) {
      add("query_live", row.hasStartedMs()).setQuery(row);
    }
    boolean runs = active && application.forgetAtMs() == 0;
    for (StreamingLive row : application.streams.rows(runs)) {
      add("streaming_live", row.hasStartedMs()).setStreaming(row);
    }
    if (active ? hasContent() : application.needsQuietRow()) {
      add("app_live", false).setApplication(application.row(startMs, windowEndMs));
    }
    forward(ENDS);
    addTick();
    return numbered();
  }

  private void addCollectorRow(WaitingRow row) {
    if (row.hasLanes()) {
      application.add(row.getLanes());
    }
    for (LatestFact health : row.getHealth().getLatestList()) {
      Fact fact = FactParser.parse(health.getFact());
      application.add(fact.getCollector(), fact.getCollectorHealth());
    }
  }

  private boolean hasContent() {
    boolean onlyTicks = facts.stream().allMatch(Fact::hasTick);
    return !onlyTicks || !stages.isEmpty() || !samples.isEmpty() || completeness != null;
  }

  private void forward(List<Fact.KindCase> kinds) {
    for (Fact.KindCase kind : kinds) {
      facts.stream().filter(fact -> fact.getKindCase() == kind).forEach(this::forward);
    }
  }

  private void forward(Fact fact) {
    FieldDescriptor factField =
        Fact.getDescriptor().findFieldByNumber(fact.getKindCase().getNumber());
    FieldDescriptor rowField = LiveRow.getDescriptor().findFieldByName(factField.getName());
    add(factField.getName()).setField(rowField, fact.getField(factField));
  }

  private void addStages() {
    stages.sort(
        Comparator.comparingInt((StageUpdate update) -> update.getStage().getStageId())
            .thenComparingInt(update -> update.getStage().getStageAttempt()));
    for (StageUpdate update : stages) {
      LiveRow.Builder row = add("stage_live", update.getStartSeen()).setStage(update.getStage());
      if (row.hasCompleteness() && update.hasEndedShare()) {
        row.setCompleteness(Math.min(row.getCompleteness(), update.getEndedShare()));
      }
      for (TaskLive task : update.getTasksList()) {
        add("task_live", update.getStartSeen()).setTask(task);
      }
    }
  }

  private void addFailures() {
    for (StageUpdate update : stages) {
      for (FailureLive failure : update.getFailuresList()) {
        add("failure_live", update.getStartSeen()).setFailure(failure);
      }
    }
  }

  /** Forwards only the last tick of the window, which is enough to close later windows. */
  private void addTick() {
    facts.stream()
        .filter(Fact::hasTick)
        .max(Comparator.comparingLong(fact -> fact.getTick().getSentMs()))
        .ifPresent(fact -> add("tick").setTick(fact.getTick()));
  }

  private LiveRow.Builder add(String view) {
    LiveRow.Builder row = envelope.toBuilder().setView(view).setWindowEndMs(windowEndMs);
    if (application.rowEpochMs() > 0) {
      row.setRowEpochMs(application.rowEpochMs());
    }
    if (completeness != null) {
      row.setCompleteness(completeness);
    }
    rows.add(row);
    return row;
  }

  /** Adds a row about a subject; {@code startSeen} is whether the start of the subject arrived. */
  private LiveRow.Builder add(String view, boolean startSeen) {
    LiveRow.Builder row = add(view);
    if (application.lacksBeginning() && !startSeen) {
      row.setIncompleteSinceMs(application.rowEpochMs())
          .setCompleteness(application.completenessWithoutBeginning());
    }
    return row;
  }

  private List<LiveRow> numbered() {
    return rows.stream().map(row -> row.setRowSeq(application.nextRow()).build()).toList();
  }
}
