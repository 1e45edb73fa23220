package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.SqlPlan;
import io.sparkfuse.contracts.SqlPlanMetric;
import io.sparkfuse.spark.facts.SecretScrubber;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * Copies names, shape, details and metrics of a SparkPlanInfo in pre-order.
 *
 * <p>Nodes, metrics, characters and visits are limited, so that neither a large nor a deep plan
 * costs the listener more than a few milliseconds. The fact contains the numbers of nodes and
 * metrics that were left out.
 */
final class SqlPlanCopier {
  static final int MAX_NODES = 1_000;
  static final int MAX_METRICS = 2_000;
  static final int MAX_NAME_CHARS = 200;

  /** Maximum number of conditions that are copied; more are not needed to identify the job. */
  static final int MAX_CONDITIONS = 256;

  /**
   * Maximum number of characters of a plan. A character takes at most three bytes, so the record
   * stays below 256 kB, including numbers and Protobuf tags.
   */
  static final int MAX_CHARS = 60_000;

  /** Maximum number of characters of all details; further nodes have an empty detail. */
  static final int MAX_DETAIL_CHARS = 30_000;

  /** Maximum number of nodes that are visited; further nodes are not counted. */
  static final int MAX_VISITS = 20_000;

  private static final class Visit {
    final Object node;
    final int parent;

    Visit(Object node, int parent) {
      this.node = node;
      this.parent = parent;
    }
  }

  private final SqlPlan.Builder plan;
  private final LongConsumer metricIds;
  private final Deque<Visit> open = new ArrayDeque<>();
  private final List<String> conditions;
  private int chars;
  private int detailChars;
  private int leftOutNodes;
  private int leftOutMetrics;

  private SqlPlanCopier(SqlPlan.Builder plan, LongConsumer metricIds, List<String> conditions) {
    this.plan = plan;
    this.metricIds = metricIds;
    this.conditions = conditions;
  }

  /**
   * Copies a plan into a builder whose query and version are set.
   *
   * @param metricIds receives the accumulator id of each metric
   * @param conditions receives the first nodes with their conditions; may be null
   */
  static SqlPlan copy(
      Object root, SqlPlan.Builder plan, LongConsumer metricIds, List<String> conditions) {
    SqlPlanCopier copy = new SqlPlanCopier(plan, metricIds, conditions);
    copy.walk(root);
    return plan.setLeftOutNodes(copy.leftOutNodes).setLeftOutMetrics(copy.leftOutMetrics).build();
  }

  /**
   * Returns the beginning of a node's name, because the name of a scan can contain a whole query.
   */
  static String name(Object node) {
    String name = String.valueOf(ScalaAccess.text(node, "nodeName"));
    return SecretScrubber.shortened(name, MAX_NAME_CHARS);
  }

  private void walk(Object root) {
    if (root != null) {
      open.push(new Visit(root, -1));
    }
    for (int visits = 0; !open.isEmpty() && visits < MAX_VISITS; visits++) {
      Visit visit = open.pop();
      int number = take(visit);
      List<Object> children = ScalaAccess.list(ScalaAccess.get(visit.node, "children"), MAX_VISITS);
      for (int i = children.size() - 1; i >= 0; i--) {
        open.push(new Visit(children.get(i), number));
      }
    }
    leftOutNodes += open.size();
  }

  /**
   * Copies a node. Returns the node's number or, if the node is left out, the number of its nearest
   * copied ancestor.
   */
  private int take(Visit visit) {
    int number = plan.getNodeNamesCount();
    if (number >= MAX_NODES || chars >= MAX_CHARS) {
      leftOutNodes++;
      return visit.parent;
    }
    String name = name(visit.node);
    chars += name.length();
    plan.addNodeNames(name).addNodeParents(visit.parent).addNodeDetails(detail(visit.node));
    if (conditions != null && conditions.size() < MAX_CONDITIONS) {
      conditions.add(PlanCondition.withCondition(visit.node, name));
    }
    Object metrics = ScalaAccess.get(visit.node, "metrics");
    for (Object metric : ScalaAccess.list(metrics, MAX_METRICS)) {
      take(number, metric);
    }
    return number;
  }

  private String detail(Object node) {
    if (detailChars >= MAX_DETAIL_CHARS) {
      return "";
    }
    String detail =
        NodeDetail.of(
            text(node, "nodeName"), text(node, "simpleString"), NodeDetail.metadata(node));
    detailChars += detail.length();
    return detail;
  }

  private static String text(Object node, String getter) {
    String text = ScalaAccess.text(node, getter);
    return text == null ? "" : text;
  }

  private void take(int node, Object metric) {
    long id = ScalaAccess.number(metric, "accumulatorId", -1);
    metricIds.accept(id);
    if (plan.getMetricsCount() >= MAX_METRICS || chars >= MAX_CHARS) {
      leftOutMetrics++;
      return;
    }
    String name = String.valueOf(ScalaAccess.text(metric, "name"));
    if (name.length() > MAX_NAME_CHARS) {
      name = name.substring(0, MAX_NAME_CHARS);
    }
    chars += name.length();
    plan.addMetrics(
        SqlPlanMetric.newBuilder()
            .setNode(node)
            .setAccumulatorId(id)
            .setName(name)
            .setType(String.valueOf(ScalaAccess.text(metric, "metricType"))));
  }
}
