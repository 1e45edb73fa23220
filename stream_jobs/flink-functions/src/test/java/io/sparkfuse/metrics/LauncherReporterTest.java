package io.sparkfuse.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.SimpleCounter;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.junit.jupiter.api.Test;

class LauncherReporterTest {
  private final LauncherReporter reporter = new LauncherReporter();

  /** A group of one parallel instance of a step, with the labels of Flink and one of Sparkfuse. */
  private static MetricGroup group(String subtask, String view, String... scope) {
    return new UnregisteredMetricsGroup() {
      @Override
      public Map<String, String> getAllVariables() {
        return Map.of(
            "<tm_id>", "tm", "<operator_id>", "o", "<subtask_index>", subtask, "<view>", view);
      }

      @Override
      public String[] getScopeComponents() {
        return scope;
      }
    };
  }

  private Metric add(String name, long value, MetricGroup group) {
    SimpleCounter counter = new SimpleCounter();
    counter.inc(value);
    reporter.notifyOfAddedMetric(counter, name, group);
    return counter;
  }

  /** Instances are combined, Flink's own labels and other metrics are left out, text is escaped. */
  @Test
  void textHasTheMetricsOfAllInstances() {
    Metric first = add("rows_total", 3, group("0", "a\"b", "tm", "sparkfuse"));
    Metric second = add("rows_total", 4, group("1", "a\"b", "tm", "sparkfuse"));
    Metric slow = add("delay_seconds", 9, group("0", "v", "tm", "sparkfuse"));
    Metric fast = add("delay_seconds", 2, group("1", "v", "tm", "sparkfuse"));
    Metric lag = add("pendingRecords", 5, group("0", "v", "tm"));
    Metric other = add("numRecordsIn", 6, group("0", "v", "tm"));

    assertEquals(
        """
        # TYPE flink_taskmanager_job_task_operator_pendingRecords gauge
        flink_taskmanager_job_task_operator_pendingRecords 5.0
        # TYPE sparkfuse_delay_seconds gauge
        sparkfuse_delay_seconds{view="v"} 2.0
        # TYPE sparkfuse_rows_total counter
        sparkfuse_rows_total{view="a\\"b"} 7.0
        """,
        LauncherReporter.text());

    for (Metric metric : new Metric[] {first, second, slow, fast, lag, other}) {
      reporter.notifyOfRemovedMetric(metric, "", group("0", "v"));
    }

    assertEquals("", LauncherReporter.text());
  }
}
