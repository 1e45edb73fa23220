package io.sparkfuse.spark.listener;

import java.util.ArrayList;
import java.util.List;
import scala.collection.JavaConverters;

/** Has the getters of Spark SQL's SparkPlanInfo and SQLMetricInfo, which are read by reflection. */
public final class PlanNode {
  private final String name;
  private final List<PlanNode> children = new ArrayList<>();
  private final List<Metric> metrics = new ArrayList<>();

  PlanNode(String name, long... metricIds) {
    this.name = name;
    for (long id : metricIds) {
      metrics.add(new Metric(id));
    }
  }

  PlanNode with(PlanNode... more) {
    for (PlanNode child : more) {
      children.add(child);
    }
    return this;
  }

  public String nodeName() {
    return name;
  }

  public Object children() {
    return JavaConverters.asScalaBuffer(children);
  }

  public Object metrics() {
    return JavaConverters.asScalaBuffer(metrics);
  }

  @Override
  public String toString() {
    throw new AssertionError("a plan is never made a text");
  }

  /** One metric. */
  public static final class Metric {
    private final long id;

    Metric(long id) {
      this.id = id;
    }

    public String name() {
      return "number of output rows";
    }

    public long accumulatorId() {
      return id;
    }

    public String metricType() {
      return "sum";
    }
  }
}
