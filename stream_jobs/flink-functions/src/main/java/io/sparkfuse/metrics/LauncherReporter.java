package io.sparkfuse.metrics;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricConfig;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.reporter.MetricReporter;

/**
 * Holds the metrics of a mini cluster for its launcher, which serves them to Prometheus.
 *
 * <p>Flink's Prometheus reporter listens on all network interfaces, and a mini cluster must listen
 * on the loopback interface only. The metrics are those of Sparkfuse, and some of Flink under the
 * names that Flink's Prometheus reporter gives them.
 */
public final class LauncherReporter implements MetricReporter {
  private static final Map<Metric, Series> SERIES = new ConcurrentHashMap<>();
  private static final Set<String> OF_JOB =
      Set.of(
          "numRestarts",
          "numberOfCompletedCheckpoints",
          "numberOfFailedCheckpoints",
          "lastCheckpointDuration",
          "lastCheckpointSize",
          "lastCheckpointFullSize");
  private static final Set<String> OF_OPERATOR = Set.of("pendingRecords", "numLateRecordsDropped");

  /** The labels that Flink adds to the metrics of an operator. */
  private static final Set<String> LABELS_OF_FLINK =
      Set.of(
          "host",
          "tm_id",
          "job_id",
          "job_name",
          "task_id",
          "task_name",
          "task_attempt_id",
          "task_attempt_num",
          "subtask_index",
          "operator_id",
          "operator_name");

  private record Series(String name, String labels) implements Comparable<Series> {
    boolean isLowest() {
      return name.endsWith("_ratio") || name.endsWith("_seconds");
    }

    @Override
    public int compareTo(Series other) {
      int byName = name.compareTo(other.name);
      return byName != 0 ? byName : labels.compareTo(other.labels);
    }
  }

  /**
   * Returns the present values in Prometheus' text format; the launcher calls this method.
   *
   * <p>The value of several parallel instances is the lowest of their ratios and delays, and the
   * sum of all other values.
   */
  public static String text() {
    Map<Series, Double> values = new TreeMap<>();
    SERIES.forEach(
        (metric, series) -> {
          Double value = value(metric);
          if (value != null) {
            values.merge(series, value, series.isLowest() ? Math::min : Double::sum);
          }
        });
    StringBuilder text = new StringBuilder();
    String before = "";
    for (Map.Entry<Series, Double> sample : values.entrySet()) {
      String name = sample.getKey().name;
      if (!name.equals(before)) {
        String kind = name.endsWith("_total") ? "counter" : "gauge";
        text.append("# TYPE ").append(name).append(' ').append(kind).append('\n');
        before = name;
      }
      text.append(name).append(sample.getKey().labels).append(' ');
      text.append(sample.getValue()).append('\n');
    }
    return text.toString();
  }

  @Override
  public void open(MetricConfig config) {}

  @Override
  public void close() {}

  @Override
  public void notifyOfAddedMetric(Metric metric, String name, MetricGroup group) {
    Map<String, String> variables = group.getAllVariables();
    if (Arrays.asList(group.getScopeComponents()).contains(StepMetrics.GROUP)) {
      SERIES.put(metric, new Series(StepMetrics.GROUP + '_' + name, labels(variables)));
    } else if (OF_JOB.contains(name) && !variables.containsKey("<tm_id>")) {
      SERIES.put(metric, new Series("flink_jobmanager_job_" + name, ""));
    } else if (OF_OPERATOR.contains(name) && variables.containsKey("<operator_id>")) {
      SERIES.put(metric, new Series("flink_taskmanager_job_task_operator_" + name, ""));
    }
  }

  @Override
  public void notifyOfRemovedMetric(Metric metric, String name, MetricGroup group) {
    SERIES.remove(metric);
  }

  private static Double value(Metric metric) {
    if (metric instanceof Counter counter) {
      return (double) counter.getCount();
    }
    return metric instanceof Gauge<?> gauge && gauge.getValue() instanceof Number number
        ? number.doubleValue()
        : null;
  }

  /** Returns the labels that {@link StepMetrics} sets. */
  private static String labels(Map<String, String> variables) {
    StringBuilder labels = new StringBuilder();
    new TreeMap<>(variables)
        .forEach(
            (variable, value) -> {
              String name = variable.substring(1, variable.length() - 1);
              if (!LABELS_OF_FLINK.contains(name)) {
                labels.append(labels.isEmpty() ? "{" : ",");
                labels.append(name).append("=\"").append(escaped(value)).append('"');
              }
            });
    return labels.isEmpty() ? "" : labels.append('}').toString();
  }

  private static String escaped(String value) {
    return value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
  }
}
