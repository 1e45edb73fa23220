package io.sparkfuse.windows.application;

import io.sparkfuse.contracts.AppLive;
import io.sparkfuse.contracts.ApplicationEnded;
import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.ExecutorLive;
import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.QueryLive;
import io.sparkfuse.windows.StateFormat;
import io.sparkfuse.windows.executors.ApplicationExecutors;
import io.sparkfuse.windows.rows.CommonFields;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.SequenceNumbers;
import io.sparkfuse.windows.wire.StageUpdate;
import java.util.List;
import java.util.Set;

/** The state of one application in ApplicationFold, and how facts and stages change it. */
public final class Application {
  /**
   * For this long after the end of an application, or its last fact, facts can still arrive. [ms]
   */
  public static final long GRACE_MS = 900_000;

  /**
   * Upper bound of the completeness of a row whose subject lacks its beginning: an unknown share of
   * its totals is missing. It is below 0.99, so that such a row is not a reason for a critical
   * finding or an act.
   */
  static final double WITHOUT_BEGINNING = 0.98;

  private static final String RUNNING = "running";
  private static final String SUCCEEDED = "succeeded";
  private static final String FAILED = "failed";
  private static final String UNKNOWN = "unknown";

  /** Reasons for which a collector stops collecting; for any other reason it only collects less. */
  private static final Set<String> OFF = Set.of("switched off", "faults");

  private final AppLive.Builder soFar;
  private final ApplicationFacts facts;
  private final ApplicationStages stages;
  private final ApplicationQueries queries;
  private int queriesDropped;
  final ApplicationStreams streams;
  private final ApplicationJobs jobs;
  private final ApplicationExecutors executors;
  private final ObservedTime clock;
  private final ApplicationSilence silence;
  private boolean overcounted;
  private boolean reportsSilent;
  private boolean startSeen;
  private long rowEpochMs;
  private long rows;
  private long forgetAtMs;

  private Application(ApplicationState saved) {
    soFar = saved.getSoFar().toBuilder();
    stages = ApplicationStages.restore(saved);
    queries = ApplicationQueries.restore(saved);
    streams = ApplicationStreams.restore(saved);
    jobs = ApplicationJobs.restore(saved);
    executors = ApplicationExecutors.restore(saved);
    clock = ObservedTime.restore(saved);
    facts = ApplicationFacts.restore(saved, clock);
    silence = ApplicationSilence.restore(saved, clock);
    overcounted = saved.getOvercounted();
    // A state of a release without epochs has no flag.
    startSeen = saved.getStartSeen() || saved.getSoFar().hasName();
    rowEpochMs = saved.getRowEpochMs();
    rows = saved.getRows();
    forgetAtMs = saved.getForgetAtMs();
  }

  /**
   * Restores the saved application, or creates a new one if the grace period of the saved one is
   * over at {@code nowMs}.
   */
  static Application restore(ApplicationState saved, long nowMs) {
    StateFormat.require(saved.getStateFormat());
    boolean forgotten = saved.hasForgetAtMs() && saved.getForgetAtMs() <= nowMs;
    return new Application(forgotten ? forgotten(saved) : saved);
  }

  /**
   * The state that remains after the grace period: the epoch and the number of the last row, so
   * that no number is used twice.
   */
  static ApplicationState forgotten(ApplicationState saved) {
    StateFormat.require(saved.getStateFormat());
    ApplicationState.Builder state =
        ApplicationState.newBuilder().setRows(saved.getRows()).setStartSeen(true);
    if (saved.hasRowEpochMs()) {
      state.setRowEpochMs(saved.getRowEpochMs());
    }
    return state.build();
  }

  ApplicationState save() {
    ApplicationState.Builder state =
        ApplicationState.newBuilder()
            .setSoFar(soFar)
            .setOvercounted(overcounted)
            .setStartSeen(startSeen)
            .setRows(rows);
    if (rowEpochMs > 0) {
      state.setRowEpochMs(rowEpochMs);
    }
    facts.save(state);
    jobs.save(state);
    stages.save(state);
    queries.save(state);
    streams.save(state);
    executors.save(state);
    clock.save(state);
    silence.save(state);
    if (forgetAtMs > 0) {
      state.setForgetAtMs(forgetAtMs);
    }
    return state.build();
  }

  /** Number of the next row; it rises by one for each row, and continues after a restart. */
  long nextRow() {
    return ++rows;
  }

  /**
   * End of the first window in this state; 0 if the state is of a release without epochs, whose
   * rows have no epoch. [ms since epoch]
   */
  long rowEpochMs() {
    return rowEpochMs;
  }

  /**
   * Whether facts from before this state are missing: the start of the application did not arrive,
   * and the first facts that arrived are not the first that its collectors numbered.
   */
  boolean lacksBeginning() {
    return !startSeen && rowEpochMs > 0 && facts.before() > 0;
  }

  /** When the state of the application can be removed; 0 while it runs. [ms since epoch] */
  long forgetAtMs() {
    return forgetAtMs;
  }

  /**
   * Begins a window. A window that is not newer than the last one does not advance the clock.
   *
   * @param active whether any fact of the application arrived in the window
   */
  void beginWindow(long windowEndMs, long windowMs, boolean active) {
    if (rows == 0 && rowEpochMs == 0) {
      rowEpochMs = windowEndMs;
    }
    reportsSilent = clock.pass(windowEndMs, windowMs, active) && active;
    if (active && hasEnded()) {
      forgetAtMs = Math.max(forgetAtMs, windowEndMs + GRACE_MS);
    }
  }

  void add(SequenceNumbers numbers) {
    if (facts.add(numbers)) {
      jobs.factsLost();
    }
    silence.add(numbers);
  }

  /**
   * Adds the counters of a collector, which only rise. A collector that is off reports nothing, so
   * its silence does not show that the application is stalled or that executors are silent.
   */
  void add(String collector, CollectorHealth health) {
    if (facts.add(collector, health)) {
      jobs.factsLost();
    }
    if (health.getProtection().equals("open") && OFF.contains(health.getProtectionReason())) {
      jobs.factsLost();
      executors.collectorOff();
    }
  }

  void add(StageUpdate update, long windowEndMs) {
    overcounted |= update.getOvercounted();
    if (stages.add(update, queries, windowEndMs)) {
      silence.progressed();
    }
  }

  /**
   * Returns the rows of the executors in this window, by executor id. Silent executors are left out
   * if no fact of the application arrived or if the window was emitted before.
   */
  List<ExecutorLive> executorRows(
      List<ExecutorSample> samples, List<ExecutorSample> pauses, Long startMs, long windowEndMs) {
    if (!samples.isEmpty()) {
      silence.processActive();
    }
    // The executors of an ended application end without a fact of their own.
    boolean silent = reportsSilent && !hasEnded();
    return executors.rows(samples, pauses, clock.activeMs(), silent, startMs, windowEndMs);
  }

  /**
   * Rows of the queries that changed in this window, by id. Queries that ended long ago are closed.
   */
  List<QueryLive> queryRows(long windowEndMs) {
    List<QueryLive> rows = queries.rows(windowEndMs);
    queriesDropped += queries.close(windowEndMs);
    return rows;
  }

  /** Queries that were dropped since the application was restored, because too many were open. */
  int queriesDropped() {
    return queriesDropped;
  }

  /**
   * Whether the application gets a row in a window without facts. It does if, as far as known, the
   * application is running; if it ended but its processes were active a short time ago; or if late
   * facts can still complete it.
   */
  boolean needsQuietRow() {
    if (hasEnded()) {
      return silence.outlivedMs() != null || (silence.endedLately() && !isWhole());
    }
    boolean running =
        soFar.hasName() || jobs.running() > 0 || executors.count() > 0 || stages.anyRuns();
    return running && !silence.isDead();
  }

  /** Whether everything that started has ended, and every numbered fact has arrived. */
  private boolean isWhole() {
    return jobs.running() == 0 && stages.runningTasks() == 0 && facts.isWhole();
  }

  private boolean hasEnded() {
    return soFar.hasEndedMs();
  }

  /** Updates the application with a start or an end. */
  void add(Fact fact, long windowEndMs) {
    switch (fact.getKindCase()) {
      case APPLICATION_STARTED -> start(fact.getApplicationStarted());
      case APPLICATION_ENDED -> end(fact.getApplicationEnded(), windowEndMs);
      case JOB_STARTED -> {
        jobs.add(fact.getJobStarted());
        queries.add(fact.getJobStarted());
        silence.progressed();
      }
      case JOB_ENDED -> {
        end(fact.getJobEnded());
        queries.add(fact.getJobEnded());
      }
      case SQL_STARTED -> queries.add(fact.getSqlStarted());
      case SQL_ENDED -> queries.add(fact.getSqlEnded(), windowEndMs);
      case SQL_METRICS -> queries.add(fact.getSqlMetrics());
      case STAGE_STARTED, STAGE_ENDED -> silence.progressed();
      case STREAMING_STARTED, STREAMING_PROGRESS, STREAMING_ENDED -> streams.add(fact);
      case RESOURCE_PROFILE_ADDED -> executors.add(fact.getResourceProfileAdded());
      case EXECUTOR_ADDED -> executors.add(fact.getExecutorAdded());
      case EXECUTOR_REMOVED -> executors.remove(fact.getExecutorRemoved().getExecutorId());
      default -> {
        // Facts of other kinds are forwarded and do not change the application.
      }
    }
  }

  /**
   * Facts that arrived divided by facts that were numbered; events that Spark dropped before they
   * were numbered count as missing. Returns 0 if more tasks ended than exist, because facts were
   * counted twice, and null if no fact is numbered. Facts from before a state that lacks the
   * beginning of the application do not count as missing.
   */
  Double completeness() {
    if (overcounted) {
      return 0.0;
    }
    long expected = expected();
    return expected == 0 ? null : (double) facts.seen() / expected;
  }

  /** Completeness of rows about a subject that started before this state: all facts count. */
  double completenessWithoutBeginning() {
    double ofAll = (double) facts.seen() / (expected() + facts.before());
    return overcounted ? 0.0 : Math.min(ofAll, WITHOUT_BEGINNING);
  }

  private long expected() {
    return facts.expected() - (lacksBeginning() ? facts.before() : 0);
  }

  AppLive row(Long startMs, long windowEndMs) {
    AppLive.Builder row = soFar.clone();
    row.setStatus(status());
    long until = row.hasEndedMs() ? row.getEndedMs() : windowEndMs;
    if (startMs != null) {
      row.setElapsedMs(Math.max(0, until - startMs));
    }
    stages.fill(row);
    silence.fill(row, jobs);
    if (row.hasEndedMs()) {
      row.setUnfinishedTasks(row.getRunningTasks());
    }
    return row.setRunningJobs(jobs.running())
        .setBetweenJobsMs(jobs.betweenMs(until))
        .setSucceededJobs(soFar.getSucceededJobs())
        .setFailedJobs(soFar.getFailedJobs())
        .setExecutors(executors.count())
        .setFactsSeen(facts.seen())
        .setFactsExpected(expected())
        .setFactsDropped(facts.dropped())
        .build();
  }

  /**
   * Spark does not report how an application ended. It failed if a job failed, or if a job ran when
   * it ended: that job can no longer succeed. It succeeded if all its jobs are known and ended. If
   * its processes are dead without an end, or if jobs are unknown, so is the status.
   */
  private String status() {
    if (!hasEnded()) {
      return silence.isDying() ? UNKNOWN : RUNNING;
    }
    if (FAILED.equals(soFar.getStatus()) || soFar.getFailedJobs() > 0 || jobs.running() > 0) {
      return FAILED;
    }
    return jobs.known() && !lacksBeginning() ? SUCCEEDED : UNKNOWN;
  }

  private void start(ApplicationStarted started) {
    startSeen = true;
    CommonFields.copy(started, soFar);
    executors.add(started);
    silence.idle();
  }

  private void end(JobEnded ended) {
    jobs.add(ended);
    silence.progressed();
    silence.idle();
    if (ended.getSucceeded()) {
      soFar.setSucceededJobs(soFar.getSucceededJobs() + 1);
    } else {
      soFar.setFailedJobs(soFar.getFailedJobs() + 1);
    }
  }

  /** The end counts the failed jobs, also those whose own fact was lost. */
  private void end(ApplicationEnded ended, long windowEndMs) {
    soFar.setEndedMs(ended.getEndedMs());
    if (ended.getFailedJobs() > 0) {
      soFar.setStatus(FAILED);
    }
    silence.ended();
    forgetAtMs = windowEndMs + GRACE_MS;
  }
}
