package io.sparkfuse.spark;

import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.listener.FactRecorder;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.KafkaRecordSink;
import io.sparkfuse.spark.transport.QueuedRecord;
import io.sparkfuse.spark.transport.RecordSink;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;

/**
 * What the driver's side is made of. A place of its own for it, so that tests can put a part in
 * that throws, and show on a real Spark that the job does not feel it.
 */
class DriverDependencies {
  /** All of the plugin must be over by then when the application stops. */
  private static final long SHUTDOWN_MS = 1_900;

  /** Of the Kafka client's memory. */
  private static final int CLIENT_BYTES = 4 << 20;

  PluginSettings settings(SparkConf conf) {
    return PluginSettings.of(conf);
  }

  /**
   * Two thirds of the memory for what waits are the sender's backlog; of the rest a third is the
   * bulk lane's.
   */
  FactQueue queue(PluginSettings settings) {
    long bytes = settings.queueBytes - backlogBytes(settings);
    return new FactQueue(settings.queueFacts, bytes / 3, settings.queueReserved, bytes - bytes / 3);
  }

  final long backlogBytes(PluginSettings settings) {
    return settings.queueBytes / 3 * 2;
  }

  RecordSink.Factory sinks(PluginSettings settings, String collector) {
    return KafkaRecordSink.factory(settings, collector, CLIENT_BYTES);
  }

  FactRecorder recorder(FactQueue queue) {
    return (lane, fact) ->
        queue.offer(QueuedRecord.fact(lane, fact, fact.buildPartial().getSerializedSize()));
  }

  /** Takes a fact that an executor made. */
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
