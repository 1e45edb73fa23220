package io.sparkfuse.spark.hook;

import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.safety.SteadyClock;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.KafkaClientSettings;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads the compacted topic {@code controls} to its end, without a consumer group. The consumer is
 * created when a verified signal arrives, and closed after a minute without a signal. Each new
 * consumer reads the whole topic.
 */
final class ControlsReader implements Controls {
  private static final long CLOSE_MS = 200;
  private static final Duration POLL = Duration.ofMillis(100);

  private final PluginSettings settings;
  private final PublicKeys keys;
  private final TopicPartition partition;
  private KafkaConsumer<byte[], byte[]> consumer;
  private ControlBook book;
  private long usedMs;

  ControlsReader(PluginSettings settings, PublicKeys keys) {
    this.settings = settings;
    this.keys = keys;
    this.partition = new TopicPartition(settings.topic(ControlBook.TOPIC), 0);
  }

  @Override
  public ControlSnapshot refresh(long limitMs) {
    long untilMs = SteadyClock.ms() + limitMs;
    try {
      open();
      boolean complete = readToEnd(untilMs);
      usedMs = SteadyClock.ms();
      return complete
          ? book.snapshot()
          : ControlSnapshot.unreachable("the end was not reached in " + limitMs + " ms");
    } catch (RuntimeException fault) { // without the controls, the caller stops nothing
      PluginLog.warnOncePerMinute("the controls of the fuse cannot be read", fault);
      close();
      return ControlSnapshot.unreachable(String.valueOf(fault.getMessage()));
    }
  }

  private void open() {
    if (consumer != null) {
      return;
    }
    Properties properties = KafkaClientSettings.consumer(settings, "sparkfuse-controls");
    // If the topic was deleted, an offset is out of range; a new consumer then reads the whole
    // topic.
    properties.put("auto.offset.reset", "none");
    consumer =
        KafkaClientSettings.withOwnLoader(
            () ->
                new KafkaConsumer<>(
                    properties, new ByteArrayDeserializer(), new ByteArrayDeserializer()));
    book = new ControlBook(keys);
    consumer.assign(Collections.singleton(partition));
    consumer.seekToBeginning(Collections.singleton(partition));
  }

  /** Reads up to the current end of the topic. Returns whether that end was reached in time. */
  private boolean readToEnd(long untilMs) {
    long end =
        consumer
            .endOffsets(Collections.singleton(partition), left(untilMs))
            .getOrDefault(partition, Long.MAX_VALUE);
    while (consumer.position(partition, left(untilMs)) < end) {
      if (SteadyClock.ms() >= untilMs) {
        return false;
      }
      consumer.poll(POLL).forEach(this::put);
    }
    return true;
  }

  private static Duration left(long untilMs) {
    return Duration.ofMillis(Math.max(1, untilMs - SteadyClock.ms()));
  }

  private void put(ConsumerRecord<byte[], byte[]> entry) {
    boolean appended = entry.timestampType() == TimestampType.LOG_APPEND_TIME;
    book.put(text(entry.key()), text(entry.value()), entry.timestamp(), appended);
  }

  private static String text(byte[] bytes) {
    return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
  }

  void closeIfQuiet(long nowMs) {
    if (consumer != null && nowMs - usedMs >= Hook.QUIET_MS) {
      close();
    }
  }

  void close() {
    if (consumer != null) {
      consumer.close(Duration.ofMillis(CLOSE_MS));
      consumer = null;
    }
  }
}
