package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.settings.PluginSettings;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** One idempotent producer whose every call is bounded in time. */
public final class KafkaRecordSink implements RecordSink {
  private final PluginSettings settings;
  private final DeliveryCounters deliveries;
  private final KafkaProducer<byte[], byte[]> producer;
  private final Thread network;

  private KafkaRecordSink(
      PluginSettings settings, String clientId, int bufferBytes, DeliveryCounters deliveries) {
    this.settings = settings;
    this.deliveries = deliveries;
    Properties properties = KafkaClientSettings.producer(settings, clientId, bufferBytes);
    producer =
        KafkaClientSettings.withOwnLoader(
            () ->
                new KafkaProducer<>(
                    properties, new ByteArraySerializer(), new ByteArraySerializer()));
    network = networkThread(clientId);
  }

  /**
   * The client's own thread among all of the JVM's; null when it has ended already.
   *
   * <p>An Error in it, a full heap first of all, ends it. The client says nothing of that: it takes
   * records for as long as it has room, and gives none up.
   */
  private static Thread networkThread(String clientId) {
    ThreadGroup all = Thread.currentThread().getThreadGroup();
    while (all.getParent() != null) {
      all = all.getParent();
    }
    Thread[] threads = new Thread[2 * all.activeCount() + 64];
    int found = all.enumerate(threads);
    Thread newest = null; // that of a client before may not have ended yet, and has the same name
    for (int i = 0; i < found; i++) {
      boolean named = threads[i].getName().equals("kafka-producer-network-thread | " + clientId);
      if (named && (newest == null || threads[i].getId() > newest.getId())) {
        newest = threads[i];
      }
    }
    return newest;
  }

  /** Opens a producer named after the collector, with a buffer of so many bytes. */
  public static Factory factory(PluginSettings settings, String collector, int bufferBytes) {
    return deliveries ->
        new KafkaRecordSink(settings, "sparkfuse-" + collector, bufferBytes, deliveries);
  }

  @Override
  public boolean send(String topic, String key, byte[] value) {
    ProducerRecord<byte[], byte[]> entry =
        new ProducerRecord<>(settings.topic(topic), key.getBytes(StandardCharsets.UTF_8), value);
    Thread caller = Thread.currentThread();
    Exception[] refusal = new Exception[1];
    producer.send(
        entry,
        (metadata, fault) -> {
          if (fault == null) {
            deliveries.acknowledgedOne();
          } else if (Thread.currentThread() == caller) {
            // No metadata, or no room in the buffer: the client says so before it takes the record.
            refusal[0] = fault;
          } else {
            deliveries.failedOne();
          }
        });
    return refusal[0] == null ? taken() : refused(refusal[0]);
  }

  private boolean taken() {
    deliveries.tookOne();
    return true;
  }

  private boolean refused(Exception refusal) {
    if (refusal instanceof RecordTooLargeException) { // no second try would help
      PluginLog.trouble("a record is too large for the broker", refusal);
      deliveries.tookOne();
      deliveries.failedOne();
      return true;
    }
    return false;
  }

  @Override
  public boolean alive() {
    return network != null && network.isAlive();
  }

  @Override
  public void close(long budgetMs) {
    producer.close(Duration.ofMillis(budgetMs));
  }
}
