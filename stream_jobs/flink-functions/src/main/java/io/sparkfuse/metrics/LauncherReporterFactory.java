package io.sparkfuse.metrics;

import java.util.Properties;
import org.apache.flink.metrics.reporter.MetricReporter;
import org.apache.flink.metrics.reporter.MetricReporterFactory;

/** Creates the {@link LauncherReporter} that a mini cluster names in its configuration. */
public final class LauncherReporterFactory implements MetricReporterFactory {
  @Override
  public MetricReporter createMetricReporter(Properties properties) {
    return new LauncherReporter();
  }
}
