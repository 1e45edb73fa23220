package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.Limits;
import io.sparkfuse.contracts.SqlMetrics;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.StageInfo;
import scala.Tuple2;

/**
 * Keeps the plan versions and the last metric values of running queries.
 *
 * <p>Values come from the accumulables of ended stages and from driver updates. Each value is the
 * accumulator's total so far, so it replaces the previous value. Beyond {@link #MAX_EXECUTIONS} or
 * {@link #MAX_METRICS_IN_ALL} the oldest query is forgotten and counted. Used by the listener's
 * thread only, except {@link #forgotten}.
 */
final class SqlRegistry {
  static final int MAX_EXECUTIONS = 500;
  static final int MAX_METRICS = Limits.MOST_METRICS;
  static final int MAX_METRICS_IN_ALL = 50_000;
  private static final int MAX_STAGES = Limits.MOST_STAGES;

  /** One running query. */
  static final class Execution {
    private final LongMap values = new LongMap(MAX_METRICS);
    private int version;

    /** Registers a metric of the plan. */
    void expect(long accumulatorId) {
      values.expect(accumulatorId);
    }

    /** Returns the number of the next plan; the first has number 0. */
    int nextVersion() {
      return version++;
    }
  }

  private final LinkedHashMap<Long, Execution> executions = new LinkedHashMap<>();
  private final Map<Long, Long> executionsOfStages =
      new LinkedHashMap<Long, Long>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Long> eldest) {
          return size() > MAX_STAGES;
        }
      };
  private int metrics;
  private volatile long forgotten;

  Execution started(long executionId) {
    Execution execution = new Execution();
    executions.put(executionId, execution);
    return execution;
  }

  /** Returns a running query, or null if it was forgotten or its start was not received. */
  Execution of(long executionId) {
    return executions.get(executionId);
  }

  /** Forgets the oldest queries beyond the limits; call it after new metrics were registered. */
  void bound() {
    metrics = 0;
    executions.values().forEach(each -> metrics += each.values.size());
    while (executions.size() > MAX_EXECUTIONS
        || (metrics > MAX_METRICS_IN_ALL && executions.size() > 1)) {
      Map.Entry<Long, Execution> eldest = executions.entrySet().iterator().next();
      metrics -= eldest.getValue().values.size();
      executions.remove(eldest.getKey());
      forgotten++;
    }
  }

  void stageStarted(int stageId, int attempt, Long executionId) {
    if (executionId != null && executions.containsKey(executionId)) {
      executionsOfStages.put(key(stageId, attempt), executionId);
    }
  }

  /** Stores the accumulator values at the end of a stage. */
  void stageEnded(StageInfo stage) {
    Long executionId = executionsOfStages.remove(key(stage.stageId(), stage.attemptNumber()));
    Execution execution = executionId == null ? null : executions.get(executionId);
    if (execution == null) {
      return;
    }
    for (Object entry : ScalaAccess.list(stage.accumulables(), MAX_METRICS)) {
      AccumulableInfo info = (AccumulableInfo) ((Tuple2<?, ?>) entry)._2();
      Object value = execution.values.expects(info.id()) ? ScalaAccess.option(info.value()) : null;
      if (value instanceof Number) {
        execution.values.put(info.id(), ((Number) value).longValue());
      }
    }
  }

  /** Stores values from a driver update: pairs of accumulator id and value. */
  void driverUpdated(long executionId, Object pairs) {
    Execution execution = executions.get(executionId);
    if (execution == null) {
      return;
    }
    for (Object pair : ScalaAccess.list(pairs, MAX_METRICS)) {
      Object value = ((Tuple2<?, ?>) pair)._2();
      if (value instanceof Number) {
        long id = ScalaAccess.number(((Tuple2<?, ?>) pair)._1(), -1);
        execution.values.put(id, ((Number) value).longValue());
      }
    }
  }

  /** Removes a query and returns its last values, or null if the query is not known. */
  SqlMetrics ended(long executionId) {
    Execution execution = executions.remove(executionId);
    if (execution == null) {
      return null;
    }
    SqlMetrics.Builder fact =
        SqlMetrics.newBuilder()
            .setSqlExecutionId(executionId)
            .setLeftOut(execution.values.leftOut());
    execution.values.forEachId(
        id -> fact.addAccumulatorIds(id).addValues(execution.values.get(id)));
    return fact.build();
  }

  /**
   * Returns the number of queries that were forgotten before they ended; they have no SqlMetrics.
   */
  long forgotten() {
    return forgotten;
  }

  private static long key(int stageId, int attempt) {
    return ((long) stageId << 32) | attempt;
  }
}
