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

/** An idempotent Kafka producer with a time limit on each call. */
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
   * The client's own thread, or null if it has ended.
   *
   * <p>An Error in that thread, such as OutOfMemoryError, ends the thread without a notification.
   * The client then accepts records until its buffer is full, and never reports them as failed.
   */
  private static Thread networkThread(String clientId) {
    ThreadGroup all = Thread.currentThread().getThreadGroup();
    while (all.getParent() != null) {
      all = all.getParent();
    }
    Thread[] threads = new Thread[2 * all.activeCount() + 64];
    int found = all.enumerate(threads);
    Thread newest = null; // an earlier client's thread may still have this name
    for (int i = 0; i < found; i++) {
      boolean named = threads[i].getName().equals("kafka-producer-network-thread | " + clientId);
      if (named && (newest == null || threads[i].getId() > newest.getId())) {
        newest = threads[i];
      }
    }
    return newest;
  }

  /** Returns a factory of producers named after the collector, with a buffer of {@code bytes}. */
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
            // The client reports missing metadata or a full buffer on this thread, before it
            // accepts the record.
            refusal[0] = fault;
          } else {
            deliveries.failedOne();
          }
        });
    return refusal[0] == null ? taken() : refused(refusal[0]);
  }

  private boolean taken() {
    deliveries.acceptedOne();
    return true;
  }

  private boolean refused(Exception refusal) {
    if (refusal instanceof RecordTooLargeException) { // a retry would fail too
      PluginLog.warnOncePerMinute("a record is too large for the broker", refusal);
      deliveries.acceptedOne();
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
