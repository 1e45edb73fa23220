package io.sparkfuse.spark.hook;

import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.safety.SteadyClock;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.KafkaClientSettings;
import io.sparkfuse.spark.transport.QueuedRecord;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes receipts to Kafka. Receipts that the hook waits for have a producer of their own. This
 * producer is created when a verified signal arrives, and closed after a minute without a signal.
 * Other receipts use the plugin's sender.
 */
final class KafkaReceiptWriter implements ReceiptWriter {
  /**
   * Timestamp of a receipt. If the topic uses LogAppendTime, the broker replaces this timestamp;
   * otherwise the broker's acknowledgement contains it unchanged.
   */
  private static final long NO_TIME = 0;

  private static final long CLOSE_MS = 200;

  private final PluginSettings settings;
  private final Application application;
  private final FactQueue queue;
  private KafkaProducer<byte[], byte[]> producer;
  private long usedMs;

  KafkaReceiptWriter(PluginSettings settings, Application application, FactQueue queue) {
    this.settings = settings;
    this.application = application;
    this.queue = queue;
  }

  @Override
  public void write(String json) {
    queue.offer(QueuedRecord.receipt(bytes(json)));
  }

  @Override
  public long writeAndWait(String json, long limitMs) {
    long startMs = SteadyClock.ms();
    usedMs = startMs;
    try {
      if (producer == null) {
        producer = open((int) limitMs);
      }
      ProducerRecord<byte[], byte[]> receipt =
          new ProducerRecord<>(
              settings.topic("receipts"), null, NO_TIME, bytes(application.id), bytes(json));
      long leftMs = Math.max(1, limitMs - (SteadyClock.ms() - startMs));
      long appendedMs = producer.send(receipt).get(leftMs, TimeUnit.MILLISECONDS).timestamp();
      usedMs = SteadyClock.ms();
      if (appendedMs > NO_TIME) {
        return appendedMs;
      }
      PluginLog.warn(
          "Sparkfuse: the topic receipts does not use LogAppendTime; no signal is obeyed");
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } catch (Exception unreachable) { // without an acknowledgement, the caller does not act
      PluginLog.warnOncePerMinute("a receipt was not acknowledged", unreachable);
      close();
    }
    return UNKNOWN;
  }

  void closeIfQuiet(long nowMs) {
    if (producer != null && nowMs - usedMs >= Hook.QUIET_MS) {
      close();
    }
  }

  void close() {
    if (producer != null) {
      producer.close(Duration.ofMillis(CLOSE_MS));
      producer = null;
    }
  }

  private KafkaProducer<byte[], byte[]> open(int limitMs) {
    Properties properties =
        KafkaClientSettings.receiptProducer(settings, "sparkfuse-receipts", limitMs);
    return KafkaClientSettings.withOwnLoader(
        () ->
            new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer()));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
