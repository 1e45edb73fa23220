package io.sparkfuse.spark;

import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.sampler.Sampler;
import io.sparkfuse.spark.sampler.TaskListener;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.ExecutorFactSink;
import io.sparkfuse.spark.transport.KafkaRecordSink;
import io.sparkfuse.spark.transport.RecordSink;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;

/** Creates the objects that the executor plugin uses; see {@link DriverDependencies}. */
class ExecutorDependencies {
  private static final long SHUTDOWN_MS = 500;

  PluginSettings settings(SparkConf conf) {
    return PluginSettings.of(conf);
  }

  List<RecordSink.Factory> sinks(PluginSettings settings, String collector) {
    return KafkaRecordSink.factories(settings, collector, ExecutorFactSink.CLIENT_BYTES);
  }

  /** Creates the listener of this executor's tasks. */
  TaskListener taskListener(
      PluginSettings settings,
      String executorId,
      Supplier<String> host,
      ExecutorFactSink sink,
      FaultCounter faults) {
    return new Sampler(settings, executorId, host, sink, faults);
  }

  long shutdownMs() {
    return SHUTDOWN_MS;
  }
}
