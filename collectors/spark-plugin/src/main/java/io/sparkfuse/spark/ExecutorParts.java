package io.sparkfuse.spark;

import io.sparkfuse.spark.safety.Faults;
import io.sparkfuse.spark.sampler.Sampler;
import io.sparkfuse.spark.sampler.TaskEar;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.ExecutorOutlet;
import io.sparkfuse.spark.transport.KafkaRecordSink;
import io.sparkfuse.spark.transport.RecordSink;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;

/** What an executor's side is made of; see {@link DriverParts}. */
class ExecutorParts {
  private static final long SHUTDOWN_MS = 500;

  PluginSettings settings(SparkConf conf) {
    return PluginSettings.of(conf);
  }

  RecordSink.Factory sinks(PluginSettings settings, String collector) {
    return KafkaRecordSink.factory(settings, collector, ExecutorOutlet.CLIENT_BYTES);
  }

  /** Who is told of this executor's tasks. */
  TaskEar ear(
      PluginSettings settings,
      String executorId,
      Supplier<String> host,
      ExecutorOutlet outlet,
      Faults faults) {
    return new Sampler(settings, executorId, host, outlet, faults);
  }

  long shutdownMs() {
    return SHUTDOWN_MS;
  }
}
