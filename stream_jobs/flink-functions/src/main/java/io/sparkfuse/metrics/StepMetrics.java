package io.sparkfuse.metrics;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.ThreadSafeSimpleCounter;

/**
 * The metrics of one parallel instance of a step, as metrics of Flink in the group {@value #GROUP}.
 *
 * <p>Labels are key-value groups, which Flink's Prometheus reporter turns into labels. The names
 * are those of metric_names.py without their prefix.
 */
public final class StepMetrics {
  static final String GROUP = "sparkfuse";

  /** Values of labels come from records and can be invalid; further ones share a counter. */
  private static final int MAX_VALUES = 50;

  private static final String OTHERS = "others";

  private final MetricGroup group;
  private final Map<String, Counter> byValue = new HashMap<>();
  private long lastWindowEndMs;

  /** {@code labels} are names and values in turn. */
  public StepMetrics(MetricGroup group, String... labels) {
    MetricGroup labelled = group;
    for (int place = 0; place < labels.length; place += 2) {
      labelled = labelled.addGroup(labels[place], labels[place + 1]);
    }
    this.group = labelled;
  }

  /** Returns a counter that any thread may increment. */
  public Counter counter(String name) {
    return group.addGroup(GROUP).counter(name, new ThreadSafeSimpleCounter());
  }

  /** Returns the counter with this value of the label; a group has one such counter. */
  public Counter counter(String name, String label, String value) {
    Counter known = byValue.get(value);
    if (known == null && byValue.size() >= MAX_VALUES && !OTHERS.equals(value)) {
      return counter(name, label, OTHERS);
    }
    if (known == null) {
      known = group.addGroup(label, value).addGroup(GROUP).counter(name);
      byValue.put(value, known);
    }
    return known;
  }

  /** Registers a number that is computed when it is read. */
  public <T extends Number> void gauge(String name, Supplier<T> value) {
    group.addGroup(GROUP).gauge(name, (Gauge<T>) value::get);
  }

  /** Reports that a window was processed; from the first one on, its age is a metric. */
  public void windowEnded(long endMs) {
    boolean first = lastWindowEndMs == 0;
    lastWindowEndMs = Math.max(lastWindowEndMs, endMs);
    if (first) {
      gauge("window_delay_seconds", () -> (System.currentTimeMillis() - lastWindowEndMs) / 1000.0);
    }
  }
}
