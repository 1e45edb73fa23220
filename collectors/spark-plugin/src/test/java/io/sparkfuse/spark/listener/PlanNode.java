package io.sparkfuse.spark.listener;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import scala.collection.JavaConverters;

/**
 * A fake plan node with the getters of Spark SQL's SparkPlanInfo and SQLMetricInfo, which the
 * plugin calls by reflection.
 */
public final class PlanNode {
  private final String name;
  private final Map<String, String> metadata = new HashMap<>();
  private String text = "";
  private final List<PlanNode> children = new ArrayList<>();
  private final List<Metric> metrics = new ArrayList<>();

  PlanNode(String name, long... metricIds) {
    this.name = name;
    for (long id : metricIds) {
      metrics.add(new Metric(id));
    }
  }

  PlanNode described(String simpleString) {
    text = simpleString;
    return this;
  }

  PlanNode withMetadata(String key, String value) {
    metadata.put(key, value);
    return this;
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

  public String simpleString() {
    return text;
  }

  public Object metadata() {
    return JavaConverters.mapAsScalaMap(metadata);
  }

  public Object children() {
    return JavaConverters.asScalaBuffer(children);
  }

  public Object metrics() {
    return JavaConverters.asScalaBuffer(metrics);
  }

  @Override
  public String toString() {
    throw new AssertionError("toString() of a plan is never called");
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
