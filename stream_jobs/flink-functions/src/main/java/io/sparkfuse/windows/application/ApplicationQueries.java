package io.sparkfuse.windows.application;

import com.google.protobuf.Descriptors.FieldDescriptor;
import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.contracts.Limits;
import io.sparkfuse.contracts.QueryLive;
import io.sparkfuse.contracts.SqlEnded;
import io.sparkfuse.contracts.SqlMetrics;
import io.sparkfuse.contracts.SqlStarted;
import io.sparkfuse.windows.aggregates.Failures;
import io.sparkfuse.windows.aggregates.SequenceRanges;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.LaneSequence;
import io.sparkfuse.windows.wire.QueryState;
import io.sparkfuse.windows.wire.StageTotals;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The SQL executions of one application: their columns from starts and ends, and the sums over
 * their stages.
 *
 * <p>A query is closed {@link #GRACE_MS} after its end, or earlier if more than {@link
 * #MAX_QUERIES} are open. Facts about a closed query are ignored, because a row made from them
 * alone would replace the complete one.
 */
final class ApplicationQueries {
  static final int MAX_QUERIES = 1_024;

  /** Maximum number of stage ids listed in a row. */
  static final int MAX_STAGE_IDS = 256;

  /** Maximum number of remembered stages whose query is known only from the start of their job. */
  static final int MAX_JOB_STAGES = Limits.MOST_STAGES;

  /** Maximum number of running jobs whose query is remembered. */
  static final int MAX_JOBS = 4_096;

  /** For this long after the end of a query, facts about its stages can still arrive. [ms] */
  static final long GRACE_MS = 120_000;

  /** The columns that are sums over stages. */
  private static final List<FieldDescriptor> SUMS =
      List.of(
              "running_stages",
              "ended_stages",
              "failed_stages",
              "finished_tasks",
              "running_tasks",
              "input_bytes",
              "output_bytes",
              "shuffle_read_bytes",
              "disk_spilled_bytes",
              "result_bytes")
          .stream()
          .map(QueryLive.getDescriptor()::findFieldByName)
          .toList();

  private final TreeMap<Long, Query> queries = new TreeMap<>();
  private final TreeSet<Long> changed = new TreeSet<>();
  private final TreeMap<Integer, Long> queryOfStage = new TreeMap<>();
  private final TreeMap<Integer, Long> queryOfJob = new TreeMap<>();
  private SequenceRanges closed = new SequenceRanges();

  /** One query: its columns so far. */
  private static final class Query {
    final QueryLive.Builder soFar;
    final TreeSet<Integer> stageIds = new TreeSet<>();
    long finishedCpuNs;
    Long endedAtMs;
    boolean outcomeReported;
    // Why a job of the query failed; null if no job failed.
    String jobFailure;

    Query(QueryState saved) {
      soFar = saved.getSoFar().toBuilder();
      stageIds.addAll(saved.getStageIdsList());
      finishedCpuNs = saved.getFinishedCpuNs();
      endedAtMs = saved.hasEndedAtMs() ? (Long) saved.getEndedAtMs() : null;
      outcomeReported = saved.getOutcomeReported();
      jobFailure = saved.hasJobFailure() ? saved.getJobFailure() : null;
    }

    QueryState save() {
      QueryState.Builder state =
          QueryState.newBuilder()
              .setSoFar(soFar)
              .setFinishedCpuNs(finishedCpuNs)
              .addAllStageIds(stageIds);
      if (endedAtMs != null) {
        state.setEndedAtMs(endedAtMs);
      }
      if (outcomeReported) {
        state.setOutcomeReported(true);
      }
      if (jobFailure != null) {
        state.setJobFailure(jobFailure);
      }
      return state.build();
    }

    void add(StageTotals stage, int sign) {
      QueryLive sums = sumsOf(stage);
      for (FieldDescriptor sum : SUMS) {
        long before = (Long) soFar.getField(sum);
        soFar.setField(sum, before + sign * (Long) sums.getField(sum));
      }
      finishedCpuNs += sign * stage.getFinishedCpuNs();
    }

    QueryLive row(long windowEndMs) {
      QueryLive.Builder row = soFar.clone();
      if (!row.hasStatus()) {
        row.setStatus("running");
      } else if (!outcomeReported && jobFailure != null) {
        row.setStatus("failed").setFailureReason(jobFailure);
      }
      if (row.hasStartedMs()) {
        long untilMs = row.hasEndedMs() ? row.getEndedMs() : windowEndMs;
        row.setElapsedMs(Math.max(0, untilMs - row.getStartedMs()));
      }
      // If the query has no stages, the sum is 0, and the field is set rather than absent.
      SUMS.forEach(sum -> row.setField(sum, row.getField(sum)));
      return row.setStageIds(
              stageIds.stream().map(String::valueOf).collect(Collectors.joining(",")))
          .setFinishedCpuMs(finishedCpuNs / 1_000_000)
          .build();
    }
  }

  static ApplicationQueries restore(ApplicationState saved) {
    ApplicationQueries queries = new ApplicationQueries();
    for (QueryState query : saved.getQueriesList()) {
      queries.queries.put(query.getSoFar().getQueryId(), new Query(query));
    }
    queries.closed = SequenceRanges.restore(saved.getClosedQueries());
    for (int place = 0; place < saved.getQueryStageIdsCount(); place++) {
      queries.queryOfStage.put(saved.getQueryStageIds(place), saved.getQueryStageQueries(place));
    }
    for (int place = 0; place < saved.getQueryJobIdsCount(); place++) {
      queries.queryOfJob.put(saved.getQueryJobIds(place), saved.getQueryJobQueries(place));
    }
    return queries;
  }

  void save(ApplicationState.Builder state) {
    queries.values().forEach(query -> state.addQueries(query.save()));
    LaneSequence.Builder saved = LaneSequence.newBuilder();
    closed.save(saved);
    state
        .setClosedQueries(saved)
        .addAllQueryStageIds(queryOfStage.keySet())
        .addAllQueryStageQueries(queryOfStage.values())
        .addAllQueryJobIds(queryOfJob.keySet())
        .addAllQueryJobQueries(queryOfJob.values());
  }

  /** Adds the start of a query; it may arrive after the query's end. */
  void add(SqlStarted started) {
    Query query = open(started.getSqlExecutionId());
    if (query == null) {
      return;
    }
    if (started.hasRootExecutionId()) {
      query.soFar.setRootQueryId(started.getRootExecutionId());
    }
    if (started.hasStartedMs()) {
      query.soFar.setStartedMs(started.getStartedMs());
    }
    if (started.hasDescription()) {
      query.soFar.setDescription(Failures.capped(started.getDescription()));
    }
    if (started.hasCallSite()) {
      query.soFar.setCallSite(Failures.capped(started.getCallSite()));
    }
  }

  void add(SqlEnded ended, long windowEndMs) {
    Query query = open(ended.getSqlExecutionId());
    if (query == null) {
      return;
    }
    query.endedAtMs = windowEndMs;
    query.outcomeReported = ended.hasSucceeded() || ended.hasFailureReason();
    query.soFar.setStatus(ended.hasFailureReason() ? "failed" : "succeeded");
    if (ended.hasEndedMs()) {
      query.soFar.setEndedMs(ended.getEndedMs());
    }
    if (ended.hasFailureReason()) {
      query.soFar.setFailureReason(Failures.capped(ended.getFailureReason()));
    }
  }

  /** Marks a query as changed, because the detect job adds columns from the metrics to its row. */
  void add(SqlMetrics metrics) {
    open(metrics.getSqlExecutionId());
  }

  /** Remembers to which query a job and its stages belong, in case the start of a stage is lost. */
  void add(JobStarted started) {
    long query = started.getSqlExecutionId();
    if (!started.hasSqlExecutionId() || closed.contains(query)) {
      return;
    }
    started.getStageIdsList().forEach(stage -> queryOfStage.putIfAbsent(stage, query));
    while (queryOfStage.size() > MAX_JOB_STAGES) {
      queryOfStage.pollFirstEntry();
    }
    queryOfJob.put(started.getJobId(), query);
    while (queryOfJob.size() > MAX_JOBS) {
      queryOfJob.pollFirstEntry();
    }
  }

  /**
   * Remembers that a job of a query failed. Before Spark 3.4 the end of a query does not report its
   * outcome, so a query counts as failed if one of its jobs failed. The end of the job may arrive
   * after the end of the query.
   */
  void add(JobEnded ended) {
    Long id = queryOfJob.remove(ended.getJobId());
    Query query = id == null || ended.getSucceeded() ? null : open(id);
    if (query != null && query.jobFailure == null) {
      query.jobFailure = Failures.capped(ended.getFailureReason());
    }
  }

  /** The query to which the start of a job assigned the stage; null if there is none. */
  Long queryOf(int stageId) {
    return queryOfStage.get(stageId);
  }

  /** Replaces what a stage attempt adds to its query; {@code before} is null for a new attempt. */
  void replace(StageTotals before, StageTotals now) {
    Query previous =
        before != null && before.hasQueryId() ? queries.get(before.getQueryId()) : null;
    if (previous != null) {
      previous.add(before, -1);
      changed.add(before.getQueryId());
    }
    Query query = now.hasQueryId() ? open(now.getQueryId()) : null;
    if (query != null) {
      query.add(now, 1);
      query.stageIds.add(now.getStageId());
      if (query.stageIds.size() > MAX_STAGE_IDS) {
        query.stageIds.pollLast();
      }
    }
  }

  /** Rows of the queries that changed since the last call, by id. */
  List<QueryLive> rows(long windowEndMs) {
    List<QueryLive> rows = new ArrayList<>();
    changed.forEach(id -> rows.add(queries.get(id).row(windowEndMs)));
    changed.clear();
    return rows;
  }

  /**
   * Closes queries that ended long ago. While too many queries are open, also closes the query that
   * ended first or, if none has ended, the oldest query.
   *
   * @return the number of queries that were closed because too many were open
   */
  int close(long windowEndMs) {
    Iterator<Map.Entry<Long, Query>> all = queries.entrySet().iterator();
    while (all.hasNext()) {
      Map.Entry<Long, Query> query = all.next();
      Long endedAtMs = query.getValue().endedAtMs;
      if (endedAtMs != null && endedAtMs + GRACE_MS <= windowEndMs) {
        closed.add(query.getKey());
        all.remove();
      }
    }
    int tooMany = Math.max(0, queries.size() - MAX_QUERIES);
    queries.entrySet().stream()
        .sorted(
            Comparator.comparing(ApplicationQueries::endedAtMs).thenComparing(Map.Entry::getKey))
        .limit(tooMany)
        .map(Map.Entry::getKey)
        .toList()
        .forEach(this::closeNow);
    queryOfStage.values().removeIf(closed::contains);
    queryOfJob.values().removeIf(closed::contains);
    return tooMany;
  }

  private void closeNow(long id) {
    queries.remove(id);
    closed.add(id);
  }

  private static long endedAtMs(Map.Entry<Long, Query> query) {
    Long endedAtMs = query.getValue().endedAtMs;
    return endedAtMs == null ? Long.MAX_VALUE : endedAtMs;
  }

  /**
   * Returns the open query of an id, or a new one if there is none, and marks it as changed;
   * returns null if the query is closed.
   */
  private Query open(long id) {
    Query query = queries.get(id);
    if (query == null) {
      if (closed.contains(id)) {
        return null;
      }
      query = new Query(QueryState.getDefaultInstance());
      query.soFar.setQueryId(id);
      queries.put(id, query);
    }
    changed.add(id);
    return query;
  }

  private static QueryLive sumsOf(StageTotals stage) {
    boolean ended = stage.hasEndedAtMs();
    return QueryLive.newBuilder()
        .setRunningStages(stage.getRunning() ? 1 : 0)
        .setEndedStages(ended ? 1 : 0)
        .setFailedStages(stage.getFailed() ? 1 : 0)
        .setFinishedTasks(stage.getFinishedTasks())
        .setRunningTasks(stage.getRunningTasks())
        .setInputBytes(stage.getInputBytes())
        .setOutputBytes(stage.getOutputBytes())
        .setShuffleReadBytes(stage.getShuffleReadBytes())
        .setDiskSpilledBytes(stage.getDiskSpilledBytes())
        .setResultBytes(stage.getResultBytes())
        .build();
  }
}
