package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.settings.PluginSettings;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.function.Supplier;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** An idempotent Kafka producer with a time limit on each call. */
public final class KafkaRecordSink implements RecordSink {
  private final PluginSettings settings;
  private final DeliveryCounters deliveries;

  /** Copies of pending records; null without another cluster to which they could be sent. */
  private final UnacknowledgedRecords copies;

  private final KafkaProducer<byte[], byte[]> producer;
  private final Thread network;

  private KafkaRecordSink(
      PluginSettings settings,
      Properties properties,
      DeliveryCounters deliveries,
      UnacknowledgedRecords copies) {
    this.settings = settings;
    this.deliveries = deliveries;
    this.copies = copies;
    producer =
        KafkaClientSettings.withOwnLoader(
            () ->
                new KafkaProducer<>(
                    properties, new ByteArraySerializer(), new ByteArraySerializer()));
    network = networkThread(properties.getProperty("client.id"));
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

  /**
   * Returns factories of producers named after the collector: one for the first cluster and, if the
   * settings name a fallback, one for the fallback cluster.
   *
   * @param bufferBytes memory of the clients; with a fallback, copies of pending records need half
   *     of this memory in addition
   */
  public static List<Factory> factories(
      PluginSettings settings, String collector, int bufferBytes) {
    String id = "sparkfuse-" + collector;
    String home = settings.bootstrap;
    if (!settings.hasFallback()) {
      return Collections.singletonList(
          new ClusterFactory(
              settings, home, () -> KafkaClientSettings.producer(settings, id, bufferBytes), 0));
    }
    int each = bufferBytes / 2;
    return Arrays.asList(
        new ClusterFactory(
            settings, home, () -> KafkaClientSettings.producer(settings, id, each), each / 2),
        new ClusterFactory(
            settings,
            settings.fallbackBootstrap,
            () -> KafkaClientSettings.fallbackProducer(settings, id + "-fallback", each),
            each / 2));
  }

  private static final class ClusterFactory implements Factory {
    private final PluginSettings settings;
    private final Supplier<Properties> properties;
    private final long copiesBytes;
    private volatile String brokers;

    ClusterFactory(
        PluginSettings settings,
        String brokers,
        Supplier<Properties> properties,
        long copiesBytes) {
      this.settings = settings;
      this.brokers = brokers;
      this.properties = properties;
      this.copiesBytes = copiesBytes;
    }

    @Override
    public RecordSink open(DeliveryCounters deliveries) {
      Properties all = properties.get();
      brokers = all.getProperty("bootstrap.servers"); // the owner's file may name them
      UnacknowledgedRecords copies =
          copiesBytes == 0 ? null : new UnacknowledgedRecords(copiesBytes, deliveries);
      return new KafkaRecordSink(settings, all, deliveries, copies);
    }

    @Override
    public String brokers() {
      return brokers;
    }
  }

  @Override
  public boolean send(String topic, String key, byte[] value) {
    SentRecord copy = copies == null ? null : new SentRecord(topic, value);
    if (copy != null && !copies.add(copy)) {
      return false;
    }
    try {
      return send(topic, key, value, copy);
    } catch (Throwable broken) { // the caller still has the record
      if (copy != null) {
        copies.remove(copy);
      }
      throw broken;
    }
  }

  private boolean send(String topic, String key, byte[] value, SentRecord copy) {
    ProducerRecord<byte[], byte[]> entry =
        new ProducerRecord<>(settings.topic(topic), key.getBytes(StandardCharsets.UTF_8), value);
    Thread caller = Thread.currentThread();
    Exception[] refusal = new Exception[1];
    producer.send(
        entry,
        (metadata, fault) -> {
          if (fault != null && Thread.currentThread() == caller) {
            // The client reports missing metadata or a full buffer on this thread, before it
            // accepts the record.
            refusal[0] = fault;
          } else {
            ended(copy, fault);
          }
        });
    if (refusal[0] == null) {
      deliveries.acceptedOne();
      return true;
    }
    if (copy != null) {
      copies.remove(copy);
    }
    return refused(refusal[0]);
  }

  private void ended(SentRecord copy, Exception fault) {
    if (copy != null) {
      if (fault == null) {
        copies.acknowledged(copy);
      } else {
        copies.refused(copy);
      }
    } else if (fault == null) {
      deliveries.acknowledgedOne();
    } else {
      deliveries.failedOne();
    }
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
  public List<SentRecord> withdraw() {
    return copies == null ? Collections.emptyList() : copies.takeAll();
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
