package io.sparkfuse.windows.application;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.contracts.QueryLive;
import io.sparkfuse.contracts.SqlEnded;
import io.sparkfuse.contracts.SqlMetrics;
import io.sparkfuse.contracts.SqlPlan;
import io.sparkfuse.contracts.SqlStarted;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.windows.wire.StageUpdate;
import java.util.List;
import org.junit.jupiter.api.Test;

class ApplicationQueriesTest {
  private final Scenario scenario = new Scenario();

  /** The row of a running query has the columns of its start and the sums over its stages. */
  @Test
  void sumsTheStagesOfARunningQuery() throws Exception {
    scenario
        .fact(started(7))
        .stage(stage(3, 7L).setFinishedInputBytes(100).setRunningInputBytes(10).setFinishedTasks(2))
        .stage(stage(4, 7L).setRunningTasks(5).setRunningOutputBytes(6).setDiskSpilledBytes(9))
        .stage(stage(5, 7L).setResultBytes(600))
        .stage(stage(6, 7L).setResultBytes(70));

    QueryLive actual = query(scenario.pass());
    QueryLive expected =
        QueryLive.newBuilder()
            .setQueryId(7)
            .setRootQueryId(6)
            .setDescription("count orders")
            .setCallSite("main at orders.py:3")
            .setStatus("running")
            .setStartedMs(Scenario.START_MS)
            .setElapsedMs(scenario.endMs() - Scenario.START_MS)
            .setRunningStages(4)
            .setEndedStages(0)
            .setFailedStages(0)
            .setStageIds("3,4,5,6")
            .setFinishedTasks(2)
            .setRunningTasks(5)
            .setInputBytes(110)
            .setOutputBytes(6)
            .setShuffleReadBytes(0)
            .setDiskSpilledBytes(9)
            .setResultBytes(670)
            .setFinishedCpuMs(0)
            .build();

    assertEquals(expected, actual);
  }

  /** An update of a stage replaces what the stage added before; CPU time is summed in ns. */
  @Test
  void replacesTheValuesOfAStage() throws Exception {
    scenario.stage(update(stage(3, 7L).setFinishedTasks(2).setRunningTasks(4), 700_000)).pass();
    scenario.stage(update(stage(4, 7L).setFinishedTasks(1), 600_000));
    scenario.stage(update(stage(3, 7L).setFinishedTasks(6).setStatus("failed"), 800_000));

    QueryLive query = query(scenario.pass());

    assertEquals(7, query.getFinishedTasks());
    assertEquals(0, query.getRunningTasks());
    assertEquals(1, query.getFinishedCpuMs());
    assertEquals(
        List.of(1L, 1L, 1L),
        List.of(query.getRunningStages(), query.getEndedStages(), query.getFailedStages()));
  }

  /** A query has no row in a window in which neither the query nor one of its stages changed. */
  @Test
  void emitsARowOnlyWhenTheQueryChanged() throws Exception {
    scenario.fact(started(7)).stage(stage(3, 7L)).pass();
    scenario.numbered("driver-1").stage(stage(5, null));

    assertEquals(List.of(), queries(scenario.pass()));
  }

  /** The end sets status, reason and duration; stages that end later still change the sums. */
  @Test
  void keepsAnEndedQueryForLateFacts() throws Exception {
    scenario.fact(started(7)).stage(stage(3, 7L)).pass();
    QueryLive ended = query(scenario.fact(ended(7, "boom")).pass());
    QueryLive late = query(scenario.stage(stage(3, 7L).setFinishedTasks(9)).pass());

    assertEquals(List.of("failed", "boom"), List.of(ended.getStatus(), ended.getFailureReason()));
    assertEquals(500, ended.getElapsedMs());
    assertEquals(ended.toBuilder().setFinishedTasks(9).build(), late);
  }

  /** Before Spark 3.4 the end reports no outcome: the query failed if one of its jobs did. */
  @Test
  void queryWithoutAnOutcomeFailsWithItsJob() throws Exception {
    scenario.fact(started(7)).fact(job(1, 7)).fact(job(2, 7)).fact(job(3, 8)).pass();
    QueryLive before = query(scenario.fact(ended(7, null)).pass());
    QueryLive after = query(scenario.fact(jobEnded(1, null)).fact(jobEnded(2, "no disk")).pass());
    List<LiveRow> otherQuery = scenario.fact(jobEnded(3, null)).pass();

    assertEquals("succeeded", before.getStatus());
    assertEquals(
        List.of("failed", "no disk"), List.of(after.getStatus(), after.getFailureReason()));
    assertEquals(List.of(), queries(otherQuery));
  }

  /** If a query reports its success, it has succeeded even if one of its jobs failed. */
  @Test
  void reportedOutcomeOfAQueryCounts() throws Exception {
    scenario.fact(started(7)).fact(job(1, 7)).fact(jobEnded(1, "no disk"));
    Fact.Builder end = ended(7, null);
    end.getSqlEndedBuilder().setSucceeded(true);

    QueryLive query = query(scenario.fact(end).pass());

    assertEquals(List.of("succeeded", ""), List.of(query.getStatus(), query.getFailureReason()));
  }

  /** If the start of a query is lost, its row comes from its stages and its end. */
  @Test
  void queryWithoutAStartHasARow() throws Exception {
    QueryLive running = query(scenario.stage(stage(3, 7L)).pass());
    QueryLive ended = query(scenario.fact(ended(7, null)).pass());

    assertEquals("running", running.getStatus());
    assertFalse(running.hasElapsedMs());
    assertEquals("succeeded", ended.getStatus());
    assertFalse(ended.hasStartedMs());
  }

  /**
   * If the start of a query arrives after its end, the start completes the row and does not reopen
   * the query.
   */
  @Test
  void acceptsAStartAfterTheEnd() throws Exception {
    scenario.fact(ended(7, null)).pass();

    QueryLive query = query(scenario.fact(started(7)).pass());

    assertEquals("succeeded", query.getStatus());
    assertEquals(500, query.getElapsedMs());
  }

  /** If the start of a stage is lost, the query of the stage is taken from the start of its job. */
  @Test
  void findsTheQueryOfAStageByItsJob() throws Exception {
    JobStarted job =
        JobStarted.newBuilder().setJobId(1).setSqlExecutionId(7).addStageIds(3).build();
    scenario.fact(Fact.newBuilder().setJobStarted(job)).pass();

    QueryLive query = query(scenario.stage(stage(3, null).setFinishedTasks(2)).pass());

    assertEquals(List.of(7L, 2L), List.of(query.getQueryId(), query.getFinishedTasks()));
  }

  /**
   * If the query of a stage becomes known later, all earlier tasks of the stage count for the query
   * too.
   */
  @Test
  void countsAStageWhoseQueryBecomesKnownLater() throws Exception {
    scenario.stage(stage(3, null).setFinishedTasks(2)).pass();

    QueryLive query = query(scenario.stage(stage(3, 7L).setFinishedTasks(5)).pass());

    assertEquals(5, query.getFinishedTasks());
  }

  /** After its grace period a query is closed; later facts do not produce an incomplete row. */
  @Test
  void ignoresFactsOfAClosedQuery() throws Exception {
    scenario.fact(started(7)).stage(stage(3, 7L)).fact(ended(7, null)).pass();
    for (long ms = 0; ms < ApplicationQueries.GRACE_MS; ms += Scenario.WINDOW_MS) {
      scenario.numbered("driver-1").pass();
    }

    scenario.stage(stage(3, 7L).setFinishedTasks(9)).fact(ended(7, null)).fact(started(8));

    assertEquals(List.of(8L), ids(scenario.pass()));
  }

  /**
   * If too many queries are open, those that ended first are closed; each closed query still gets
   * its row.
   */
  @Test
  void boundsTheOpenQueries() throws Exception {
    int many = ApplicationQueries.MAX_QUERIES;
    scenario.fact(started(0)).fact(started(1)).pass();
    scenario.fact(ended(1, null)).pass();
    for (int id = 2; id < many + 1; id++) {
      scenario.fact(started(id));
    }
    int rows = queries(scenario.pass()).size();
    List<Long> late = ids(scenario.stage(stage(3, 0L)).stage(stage(4, 1L)).pass());
    for (int id = many + 1; id < 10 * many; id++) {
      scenario.fact(started(id)).fact(ended(id, null));
    }
    scenario.pass();

    assertEquals(many - 1, rows);
    assertEquals(List.of(0L), late);
    assertEquals(true, scenario.stateBytes() < 200 * many);
  }

  /** A row lists at most 256 stage ids: the lowest ones. */
  @Test
  void boundsTheListOfStages() throws Exception {
    for (int id = 999; id >= 0; id--) {
      scenario.stage(stage(id, 7L).setFinishedTasks(1));
    }

    QueryLive query = query(scenario.pass());

    assertEquals(1_000, query.getFinishedTasks());
    assertEquals(ApplicationQueries.MAX_STAGE_IDS, query.getStageIds().split(",").length);
    assertEquals(true, query.getStageIds().startsWith("0,1,2,3,"));
  }

  /**
   * A plan is emitted before the starts of stages, in any order of arrival, and keeps all its
   * fields.
   */
  @Test
  void passesPlansBeforeStages() throws Exception {
    SqlPlan.Builder plan =
        SqlPlan.newBuilder().setSqlExecutionId(7).addNodeNames("Scan").addNodeDetails("db.t");
    StageStarted stage = StageStarted.newBuilder().setStageId(3).build();
    scenario
        .fact(Fact.newBuilder().setStageStarted(stage))
        .stage(stage(3, 7L))
        .fact(Fact.newBuilder().setSqlPlan(plan.setPlanVersion(0)))
        .fact(Fact.newBuilder().setSqlPlan(plan.setPlanVersion(1)))
        .fact(started(7));

    List<LiveRow> rows = scenario.pass();

    assertEquals(
        List.of(
            "sql_started",
            "sql_plan",
            "sql_plan",
            "stage_started",
            "stage_live",
            "query_live",
            "app_live"),
        rows.stream().map(LiveRow::getView).toList());
    assertEquals(plan.build(), rows.get(2).getSqlPlan());
  }

  /**
   * The metrics of a query come before the row of the query, which the detect job completes from
   * them. If they arrive after the end of the query, the query has another row.
   */
  @Test
  void passesMetricsBeforeTheRowOfTheQuery() throws Exception {
    SqlMetrics metrics =
        SqlMetrics.newBuilder().setSqlExecutionId(7).addAccumulatorIds(4).addValues(40).build();
    scenario.fact(started(7)).fact(ended(7, null)).pass();

    List<LiveRow> rows = scenario.fact(Fact.newBuilder().setSqlMetrics(metrics)).pass();

    assertEquals(
        List.of("sql_metrics", "query_live", "app_live"),
        rows.stream().map(LiveRow::getView).toList());
    assertEquals(metrics, rows.get(0).getSqlMetrics());
    assertEquals("succeeded", rows.get(1).getQuery().getStatus());
  }

  private static Fact.Builder started(long id) {
    return Fact.newBuilder()
        .setSqlStarted(
            SqlStarted.newBuilder()
                .setSqlExecutionId(id)
                .setRootExecutionId(id - 1)
                .setStartedMs(Scenario.START_MS)
                .setDescription("count orders")
                .setCallSite("main at orders.py:3"));
  }

  private static Fact.Builder ended(long id, String reason) {
    SqlEnded.Builder ended =
        SqlEnded.newBuilder().setSqlExecutionId(id).setEndedMs(Scenario.START_MS + 500);
    if (reason != null) {
      ended.setFailureReason(reason);
    }
    return Fact.newBuilder().setSqlEnded(ended);
  }

  private static Fact.Builder job(int id, long query) {
    return Fact.newBuilder()
        .setJobStarted(JobStarted.newBuilder().setJobId(id).setSqlExecutionId(query));
  }

  private static Fact.Builder jobEnded(int id, String reason) {
    JobEnded.Builder ended = JobEnded.newBuilder().setJobId(id).setSucceeded(reason == null);
    if (reason != null) {
      ended.setFailureReason(reason);
    }
    return Fact.newBuilder().setJobEnded(ended);
  }

  private static StageLive.Builder stage(int id, Long query) {
    StageLive.Builder stage = StageLive.newBuilder().setStageId(id).setStatus("running");
    return query == null ? stage : stage.setSqlExecutionId(query);
  }

  private static StageUpdate.Builder update(StageLive.Builder stage, long cpuNs) {
    return StageUpdate.newBuilder().setStage(stage).setFinishedCpuNs(cpuNs);
  }

  private static List<QueryLive> queries(List<LiveRow> rows) {
    return rows.stream().filter(LiveRow::hasQuery).map(LiveRow::getQuery).toList();
  }

  private static List<Long> ids(List<LiveRow> rows) {
    return queries(rows).stream().map(QueryLive::getQueryId).toList();
  }

  private static QueryLive query(List<LiveRow> rows) {
    List<QueryLive> queries = queries(rows);
    assertEquals(1, queries.size());
    return queries.get(0);
  }
}
