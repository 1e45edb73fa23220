package io.sparkfuse.windows.application;

import com.google.protobuf.Descriptors.FieldDescriptor;
import io.sparkfuse.contracts.ExecutorLive;
import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.contracts.QueryLive;
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
 * All rows of one application for one window, in the order in which they are sent: starts, live
 * rows, failures, the application's own row, ends, tick.
 *
 * <p>The order depends on what happened and never on what came first, so that a replay numbers
 * alike.
 */
final class ApplicationRows {
  private static final List<Fact.KindCase> STARTS =
      List.of(
          Fact.KindCase.APPLICATION_STARTED,
          Fact.KindCase.EXECUTOR_ADDED,
          Fact.KindCase.JOB_STARTED,
          Fact.KindCase.SQL_STARTED,
          // Before the stages that it names.
          Fact.KindCase.SQL_PLAN,
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
  private final List<WaitingRow> words = new ArrayList<>();
  private final List<LiveRow.Builder> rows = new ArrayList<>();
  private Double completeness;
  private boolean heard;
  private long windowMs;

  /** {@code envelope} has the columns that say whose rows these are. */
  ApplicationRows(Application application, LiveRow envelope, long windowEndMs) {
    this.application = application;
    this.envelope = envelope;
    this.windowEndMs = windowEndMs;
  }

  void add(WaitingRow waiting) {
    heard |= !waiting.getQuiet();
    windowMs = Math.max(windowMs, waiting.getWindowMs());
    if (waiting.hasFact()) {
      facts.add(FactParser.parse(waiting.getFact()));
    }
    if (waiting.hasStage()) {
      stages.add(waiting.getStage());
    }
    if (waiting.hasLanes() || waiting.hasHealth()) {
      words.add(waiting);
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
    application.pass(windowEndMs, windowMs, heard);
    words.forEach(this::see);
    facts.forEach(fact -> application.see(fact, windowEndMs));
    stages.forEach(news -> application.see(news, windowEndMs));
    completeness = application.completeness();
    pass(STARTS);
    Long startMs = envelope.hasAppStartMs() ? envelope.getAppStartMs() : null;
    for (ExecutorLive row : application.executors(samples, pauses, startMs, windowEndMs)) {
      add("executor_live").setExecutor(row);
    }
    stages();
    failures();
    for (QueryLive row : application.queries(windowEndMs)) {
      add("query_live").setQuery(row);
    }
    if (heard ? saysSomething() : application.isWatched()) {
      add("app_live").setApplication(application.row(startMs, windowEndMs));
    }
    pass(ENDS);
    tick();
    return numbered();
  }

  private void see(WaitingRow word) {
    if (word.hasLanes()) {
      application.see(word.getLanes());
    }
    for (LatestFact health : word.getHealth().getLatestList()) {
      Fact told = FactParser.parse(health.getFact());
      application.see(told.getCollector(), told.getCollectorHealth());
    }
  }

  private boolean saysSomething() {
    boolean onlyTicks = facts.stream().allMatch(Fact::hasTick);
    return !onlyTicks || !stages.isEmpty() || !samples.isEmpty() || completeness != null;
  }

  private void pass(List<Fact.KindCase> kinds) {
    for (Fact.KindCase kind : kinds) {
      facts.stream().filter(fact -> fact.getKindCase() == kind).forEach(this::pass);
    }
  }

  private void pass(Fact fact) {
    FieldDescriptor told = Fact.getDescriptor().findFieldByNumber(fact.getKindCase().getNumber());
    FieldDescriptor passed = LiveRow.getDescriptor().findFieldByName(told.getName());
    add(told.getName()).setField(passed, fact.getField(told));
  }

  private void stages() {
    stages.sort(
        Comparator.comparingInt((StageUpdate news) -> news.getStage().getStageId())
            .thenComparingInt(news -> news.getStage().getStageAttempt()));
    for (StageUpdate news : stages) {
      LiveRow.Builder row = add("stage_live").setStage(news.getStage());
      if (completeness != null && news.hasEndedShare()) {
        row.setCompleteness(Math.min(completeness, news.getEndedShare()));
      }
      for (TaskLive task : news.getTasksList()) {
        add("task_live").setTask(task);
      }
    }
  }

  private void failures() {
    for (StageUpdate news : stages) {
      news.getFailuresList().forEach(failure -> add("failure_live").setFailure(failure));
    }
  }

  /** The last tick of the window is enough to close the windows that come after. */
  private void tick() {
    facts.stream()
        .filter(Fact::hasTick)
        .max(Comparator.comparingLong(fact -> fact.getTick().getSentMs()))
        .ifPresent(fact -> add("tick").setTick(fact.getTick()));
  }

  private LiveRow.Builder add(String view) {
    LiveRow.Builder row = envelope.toBuilder().setView(view).setWindowEndMs(windowEndMs);
    if (completeness != null) {
      row.setCompleteness(completeness);
    }
    rows.add(row);
    return row;
  }

  private List<LiveRow> numbered() {
    return rows.stream().map(row -> row.setRowSeq(application.nextRow()).build()).toList();
  }
}
