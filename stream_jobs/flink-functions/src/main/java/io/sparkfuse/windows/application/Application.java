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
import io.sparkfuse.windows.JobCounters;
import io.sparkfuse.windows.aggregates.LaneSequences;
import io.sparkfuse.windows.executors.ApplicationExecutors;
import io.sparkfuse.windows.rows.CommonFields;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.CollectorDrops;
import io.sparkfuse.windows.wire.SequenceNumbers;
import io.sparkfuse.windows.wire.StageUpdate;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;

/**
 * One application so far: what ApplicationFold remembers, and how its facts and stages change it.
 */
public final class Application {
  /** Facts still follow the end of their application, and each other, for a while. [ms] */
  public static final long GRACE_MS = 900_000;

  /** Reasons for which a collector looks at nothing; for others it only looks at less. */
  private static final Set<String> OFF = Set.of("switched off", "faults");

  private final AppLive.Builder soFar;
  private final LaneSequences lanes;
  private final ApplicationStages stages;
  private final ApplicationQueries queries;
  private final ApplicationJobs jobs;
  private final ApplicationExecutors executors;
  private final ObservedTime clock;
  private final ApplicationSilence silence;
  private final TreeMap<String, Drops> drops = new TreeMap<>();
  private boolean overcounted;
  private boolean tellsSilent;
  private long rows;
  private long forgetAtMs;

  /**
   * What a collector dropped in all, and of that what Spark dropped before it could be numbered.
   */
  private record Drops(long dropped, long unnumbered) {
    Drops higher(Drops other) {
      return new Drops(Math.max(dropped, other.dropped), Math.max(unnumbered, other.unnumbered));
    }
  }

  private Application(ApplicationState saved) {
    soFar = saved.getSoFar().toBuilder();
    lanes = LaneSequences.restore(saved.getLanes());
    stages = ApplicationStages.restore(saved);
    queries = ApplicationQueries.restore(saved);
    jobs = ApplicationJobs.restore(saved);
    executors = ApplicationExecutors.restore(saved);
    clock = ObservedTime.restore(saved);
    silence = ApplicationSilence.restore(saved, clock);
    for (CollectorDrops drop : saved.getDropsList()) {
      drops.put(drop.getCollector(), new Drops(drop.getDropped(), drop.getUnnumbered()));
    }
    overcounted = saved.getOvercounted();
    rows = saved.getRows();
    forgetAtMs = saved.getForgetAtMs();
  }

  /** The application as it was saved, or a new one when it is past its grace at {@code nowMs}. */
  static Application restore(ApplicationState saved, long nowMs) {
    boolean forgotten = saved.hasForgetAtMs() && saved.getForgetAtMs() <= nowMs;
    return new Application(forgotten ? forgotten(saved) : saved);
  }

  /**
   * What stays of an application after its grace: the number of its rows, so that none is given out
   * twice.
   */
  static ApplicationState forgotten(ApplicationState saved) {
    return ApplicationState.newBuilder().setRows(saved.getRows()).build();
  }

  ApplicationState save() {
    ApplicationState.Builder state =
        ApplicationState.newBuilder()
            .setSoFar(soFar)
            .setLanes(lanes.save())
            .setOvercounted(overcounted)
            .setRows(rows);
    drops.forEach(
        (collector, drop) ->
            state
                .addDropsBuilder()
                .setCollector(collector)
                .setDropped(drop.dropped)
                .setUnnumbered(drop.unnumbered));
    jobs.save(state);
    stages.save(state);
    queries.save(state);
    executors.save(state);
    clock.save(state);
    silence.save(state);
    if (forgetAtMs > 0) {
      state.setForgetAtMs(forgetAtMs);
    }
    return state.build();
  }

  /** Number of the next row; rows of an application rise by one, also over a restart. */
  long nextRow() {
    return ++rows;
  }

  /** From when on the application is to be forgotten; 0 while it runs. [ms since epoch] */
  long forgetAtMs() {
    return forgetAtMs;
  }

  /**
   * A window begins to be told; what is not newer than the last one moves no clock.
   *
   * @param heard whether anything came of the application
   */
  void pass(long windowEndMs, long windowMs, boolean heard) {
    tellsSilent = clock.pass(windowEndMs, windowMs, heard) && heard;
    if (heard && hasEnded()) {
      forgetAtMs = Math.max(forgetAtMs, windowEndMs + GRACE_MS);
    }
  }

  void see(SequenceNumbers numbers) {
    lanes.merge(LaneSequences.restore(numbers));
    silence.see(numbers);
  }

  /**
   * Takes over the collector's own counters, which only rise. Of what one that is off does not tell
   * nothing follows: neither that it stands still nor that executors are silent.
   */
  void see(String collector, CollectorHealth health) {
    long unnumbered = health.getSparkDroppedEvents();
    Drops told =
        new Drops(health.getDroppedBulk() + health.getDroppedReserved() + unnumbered, unnumbered);
    drops.merge(collector, told, Drops::higher);
    if (health.getProtection().equals("open") && OFF.contains(health.getProtectionReason())) {
      jobs.unseen();
      executors.unasked();
    }
  }

  void see(StageUpdate news, long windowEndMs) {
    overcounted |= news.getOvercounted();
    if (stages.see(news, queries, windowEndMs)) {
      silence.moved();
    }
  }

  /**
   * Rows of the executors in the window that passes, by executor; the silent ones too, unless
   * nothing came of the application or the window had passed before.
   */
  List<ExecutorLive> executors(
      List<ExecutorSample> samples, List<ExecutorSample> pauses, Long startMs, long windowEndMs) {
    if (!samples.isEmpty()) {
      silence.processHeard();
    }
    // What ended takes its executors along, and nobody says that they went.
    boolean silent = tellsSilent && !hasEnded();
    return executors.rows(samples, pauses, clock.heardMs(), silent, startMs, windowEndMs);
  }

  /** Rows of the queries that changed in the window, by id; closes those that are over. */
  List<QueryLive> queries(long windowEndMs) {
    List<QueryLive> rows = queries.rows(windowEndMs);
    JobCounters.queriesDropped(queries.close(windowEndMs));
    return rows;
  }

  /**
   * Whether a window in which nothing came is worth a row: the application runs, for all that is
   * known, or it ended and its processes spoke until lately, or what it told may still be made
   * whole.
   */
  boolean isWatched() {
    if (hasEnded()) {
      return silence.outlivedMs() != null || (silence.endedLately() && !isWhole());
    }
    boolean known =
        soFar.hasName() || jobs.running() > 0 || executors.count() > 0 || stages.anyRuns();
    return known && !silence.isDead();
  }

  /** Whether all that began has its end, and all that was numbered is there. */
  private boolean isWhole() {
    return jobs.running() == 0 && stages.runningTasks() == 0 && lanes.seen() >= lanes.expected();
  }

  private boolean hasEnded() {
    return soFar.hasEndedMs();
  }

  /** Takes a start or an end into the application's own columns. */
  void see(Fact fact, long windowEndMs) {
    switch (fact.getKindCase()) {
      case APPLICATION_STARTED -> start(fact.getApplicationStarted());
      case APPLICATION_ENDED -> end(fact.getApplicationEnded(), windowEndMs);
      case JOB_STARTED -> {
        jobs.see(fact.getJobStarted());
        queries.add(fact.getJobStarted());
        silence.moved();
      }
      case JOB_ENDED -> end(fact.getJobEnded());
      case SQL_STARTED -> queries.add(fact.getSqlStarted());
      case SQL_ENDED -> queries.add(fact.getSqlEnded(), windowEndMs);
      case STAGE_STARTED, STAGE_ENDED -> silence.moved();
      case RESOURCE_PROFILE_ADDED -> executors.see(fact.getResourceProfileAdded());
      case EXECUTOR_ADDED -> executors.add(fact.getExecutorAdded());
      case EXECUTOR_REMOVED -> executors.remove(fact.getExecutorRemoved().getExecutorId());
      default -> {
        // Other kinds are passed on and change no column of the application.
      }
    }
  }

  /**
   * Facts seen / facts numbered, where what Spark dropped before it was numbered counts as missing
   * too; 0 when more tasks ended than there are, since what was counted twice is no evidence; null
   * when nothing is numbered.
   */
  Double completeness() {
    if (overcounted) {
      return 0.0;
    }
    long expected = expected();
    return expected == 0 ? null : (double) lanes.seen() / expected;
  }

  private long expected() {
    return lanes.expected() + drops.values().stream().mapToLong(Drops::unnumbered).sum();
  }

  AppLive row(Long startMs, long windowEndMs) {
    AppLive.Builder row = soFar.clone();
    if (!row.hasStatus()) {
      row.setStatus("running");
    }
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
        .setFactsSeen(lanes.seen())
        .setFactsExpected(expected())
        .setFactsDropped(drops.values().stream().mapToLong(Drops::dropped).sum())
        .build();
  }

  private void start(ApplicationStarted started) {
    CommonFields.copy(started, soFar);
    executors.see(started);
    silence.idle();
  }

  private void end(JobEnded ended) {
    jobs.see(ended);
    silence.moved();
    silence.idle();
    if (ended.getSucceeded()) {
      soFar.setSucceededJobs(soFar.getSucceededJobs() + 1);
    } else {
      soFar.setFailedJobs(soFar.getFailedJobs() + 1);
    }
  }

  /** Spark does not say how an application ended: it failed when one of its jobs did. */
  private void end(ApplicationEnded ended, long windowEndMs) {
    soFar.setEndedMs(ended.getEndedMs());
    boolean failed = ended.getFailedJobs() > 0 || soFar.getFailedJobs() > 0;
    soFar.setStatus(failed ? "failed" : "succeeded");
    silence.ended();
    forgetAtMs = windowEndMs + GRACE_MS;
  }
}
