package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.Limits;
import io.sparkfuse.contracts.SqlEnded;
import io.sparkfuse.contracts.SqlMetrics;
import io.sparkfuse.contracts.SqlPlan;
import io.sparkfuse.contracts.SqlStarted;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.facts.SecretScrubber;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * Copies Spark SQL's events about queries, by reflection, because the jar is compiled without Spark
 * SQL.
 */
final class SqlFacts {
  static final String PREFIX = "org.apache.spark.sql.execution.ui.SparkListener";

  private static final int MAX_UPDATED_METRICS = Limits.MOST_METRICS;

  private final SqlRegistry registry;
  private final FactRecorder recorder;

  SqlFacts(SqlRegistry registry, FactRecorder recorder) {
    this.registry = registry;
    this.recorder = recorder;
  }

  /** Returns the lane of the first fact that an event of this class produces, or null. */
  static Lane lane(String type) {
    switch (type.substring(PREFIX.length())) {
      case "SQLExecutionStart":
      case "SQLExecutionEnd":
        return Lane.RESERVED;
      case "SQLAdaptiveExecutionUpdate":
        return Lane.BULK;
      default:
        return null;
    }
  }

  /** Returns whether the event produces a second fact in the bulk lane: the plan or the metrics. */
  static boolean producesTwoFacts(SparkListenerEvent event) {
    String type = event.getClass().getName();
    return type.startsWith(PREFIX) && lane(type) == Lane.RESERVED;
  }

  /** Records the facts of an event; ignores events of other classes. */
  void copy(SparkListenerEvent event) {
    long executionId = ScalaAccess.number(event, "executionId", -1);
    switch (event.getClass().getName().substring(PREFIX.length())) {
      case "SQLExecutionStart":
        started(event, executionId);
        break;
      case "SQLAdaptiveExecutionUpdate":
        replanned(event, executionId, System.currentTimeMillis());
        break;
      case "SQLAdaptiveSQLMetricUpdates":
        expectMetrics(event, executionId);
        break;
      case "DriverAccumUpdates":
        registry.driverUpdated(executionId, ScalaAccess.get(event, "accumUpdates"));
        break;
      case "SQLExecutionEnd":
        ended(event, executionId);
        break;
      default: // other events contain nothing about the execution
    }
  }

  private void started(SparkListenerEvent event, long executionId) {
    long startedMs = time(event);
    SqlRegistry.Execution execution = registry.started(executionId);
    List<String> nodes = new ArrayList<>();
    SqlPlan plan = copyPlan(event, executionId, execution, nodes);
    SqlStarted.Builder fact =
        SqlStarted.newBuilder()
            .setSqlExecutionId(executionId)
            .setStartedMs(startedMs)
            .setDescription(
                SecretScrubber.cut(String.valueOf(ScalaAccess.text(event, "description"))))
            .addAllPlanNodes(nodes);
    String callSite =
        CallSite.of(ScalaAccess.text(event, "description"), ScalaAccess.text(event, "details"));
    if (callSite != null) {
      fact.setCallSite(callSite);
    }
    Object root = ScalaAccess.option(ScalaAccess.get(event, "rootExecutionId"));
    if (root != null) { // since Spark 3.4
      fact.setRootExecutionId(ScalaAccess.number(root, -1));
    }
    recorder.record(Lane.RESERVED, at(startedMs).setSqlStarted(fact));
    recorder.record(Lane.BULK, at(startedMs).setSqlPlan(plan));
  }

  /**
   * Records a re-plan at {@code nowMs}, because the event has no time. If the query's start is
   * unknown, nothing is recorded, because the number of the plan is then unknown too.
   */
  private void replanned(SparkListenerEvent event, long executionId, long nowMs) {
    SqlRegistry.Execution execution = registry.of(executionId);
    if (execution != null) {
      recorder.record(
          Lane.BULK, at(nowMs).setSqlPlan(copyPlan(event, executionId, execution, null)));
    }
  }

  private SqlPlan copyPlan(
      SparkListenerEvent event,
      long executionId,
      SqlRegistry.Execution execution,
      List<String> conditions) {
    SqlPlan.Builder plan =
        SqlPlan.newBuilder().setSqlExecutionId(executionId).setPlanVersion(execution.nextVersion());
    SqlPlan copied =
        SqlPlanCopier.copy(
            ScalaAccess.get(event, "sparkPlanInfo"), plan, execution::expect, conditions);
    registry.bound();
    return copied;
  }

  /** Registers the metrics of a re-planned subquery; the query's next plan contains their names. */
  private void expectMetrics(SparkListenerEvent event, long executionId) {
    SqlRegistry.Execution execution = registry.of(executionId);
    if (execution == null) {
      return;
    }
    Object metrics = ScalaAccess.get(event, "sqlPlanMetrics");
    for (Object metric : ScalaAccess.list(metrics, MAX_UPDATED_METRICS)) {
      execution.expect(ScalaAccess.number(metric, "accumulatorId", -1));
    }
    registry.bound();
  }

  private void ended(SparkListenerEvent event, long executionId) {
    long endedMs = time(event);
    SqlMetrics metrics = registry.ended(executionId);
    if (metrics != null) {
      recorder.record(Lane.BULK, at(endedMs).setSqlMetrics(metrics));
    }
    SqlEnded.Builder fact =
        SqlEnded.newBuilder().setSqlExecutionId(executionId).setEndedMs(endedMs);
    Object failure = ScalaAccess.option(ScalaAccess.get(event, "errorMessage"));
    // Spark sends Some("") for a query that succeeded; before version 3.4, it sends nothing.
    if (failure != null) {
      boolean succeeded = failure.toString().isEmpty();
      fact.setSucceeded(succeeded);
      if (!succeeded) {
        fact.setFailureReason(SecretScrubber.cut(failure.toString()));
      }
    }
    recorder.record(Lane.RESERVED, at(endedMs).setSqlEnded(fact));
  }

  private static long time(SparkListenerEvent event) {
    return ScalaAccess.number(event, "time", System.currentTimeMillis());
  }

  private static Fact.Builder at(long eventTimeMs) {
    return Fact.newBuilder().setEventTimeMs(eventTimeMs);
  }
}
