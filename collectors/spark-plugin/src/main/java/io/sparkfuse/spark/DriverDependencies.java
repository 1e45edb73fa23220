package io.sparkfuse.spark;

import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.listener.FactRecorder;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.KafkaRecordSink;
import io.sparkfuse.spark.transport.QueuedRecord;
import io.sparkfuse.spark.transport.RecordSink;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;

/**
 * Creates the objects that the driver plugin uses, so that a test can replace one of them with an
 * object that throws.
 */
class DriverDependencies {
  /** Time limit in ms for stopping the plugin when the application stops. */
  private static final long SHUTDOWN_MS = 1_900;

  /** Memory of the Kafka client in bytes. */
  private static final int CLIENT_BYTES = 4 << 20;

  PluginSettings settings(SparkConf conf) {
    return PluginSettings.of(conf);
  }

  /**
   * Creates the queue. The sender's backlog gets two thirds of the configured memory. The queue
   * gets the last third: one third of the queue's memory is for the bulk lane.
   */
  FactQueue queue(PluginSettings settings) {
    long bytes = settings.queueBytes - backlogBytes(settings);
    return new FactQueue(settings.queueFacts, bytes / 3, settings.queueReserved, bytes - bytes / 3);
  }

  final long backlogBytes(PluginSettings settings) {
    return settings.queueBytes / 3 * 2;
  }

  List<RecordSink.Factory> sinks(PluginSettings settings, String collector) {
    return KafkaRecordSink.factories(settings, collector, CLIENT_BYTES);
  }

  FactRecorder recorder(FactQueue queue) {
    return (lane, fact) ->
        queue.offer(QueuedRecord.fact(lane, fact, fact.buildPartial().getSerializedSize()));
  }

  /** Queues a fact of an executor. */
  void forward(FactQueue queue, byte[] fact) {
    queue.offer(QueuedRecord.forwarded(fact));
  }

  Application application(PluginSettings settings, SparkContext context, String appId) {
    Object attempt = context.applicationAttemptId().getOrElse(() -> null);
    return new Application(
        settings.cluster,
        settings.tenant,
        appId,
        Application.attemptNumber((String) attempt),
        context.startTime());
  }

  long shutdownMs() {
    return SHUTDOWN_MS;
  }
}
