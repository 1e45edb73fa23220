package io.sparkfuse.windows.facts;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.kafka.shaded.org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.flink.kafka.shaded.org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.flink.kafka.shaded.org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.flink.kafka.shaded.org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.flink.kafka.shaded.org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets the times of the records of a partition never decrease.
 *
 * <p>The leader of a partition sets the time of each record. If the clock of a new leader is behind
 * the clock of the last leader, its first records have earlier times than the records before them,
 * and the windows of those times have closed. Such a record gets the time of the record before it,
 * so it belongs to the newest window. Until the new clock has caught up, this window stays open.
 *
 * <p>A record that is more than {@link #MAX_BEHIND_MS} behind keeps its time: otherwise one wrong
 * time in the future would stop its partition until that time. Flink drops and counts such a record
 * if its window has closed. The times are not part of the job's state.
 */
public final class RisingTimes implements ConsumerInterceptor<byte[], byte[]> {
  /** The largest difference between the clocks of two brokers that is corrected. [ms] */
  static final long MAX_BEHIND_MS = 120_000;

  private static final Logger LOG = LoggerFactory.getLogger(RisingTimes.class);

  /** The time of the newest record of each partition. */
  private static final class Newest {
    long ms;
    boolean behind;
  }

  private final Map<TopicPartition, Newest> newest = new HashMap<>();

  @Override
  public ConsumerRecords<byte[], byte[]> onConsume(ConsumerRecords<byte[], byte[]> records) {
    Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> all = new HashMap<>();
    for (TopicPartition partition : records.partitions()) {
      all.put(partition, rising(partition, records.records(partition)));
    }
    return new ConsumerRecords<>(all, records.nextOffsets());
  }

  private List<ConsumerRecord<byte[], byte[]>> rising(
      TopicPartition partition, List<ConsumerRecord<byte[], byte[]>> records) {
    Newest last = newest.computeIfAbsent(partition, each -> new Newest());
    List<ConsumerRecord<byte[], byte[]>> result = new ArrayList<>(records.size());
    for (ConsumerRecord<byte[], byte[]> record : records) {
      long behindMs = last.ms - record.timestamp();
      boolean behind = behindMs > 0 && behindMs <= MAX_BEHIND_MS;
      if (behind && !last.behind) {
        LOG.warn(
            "The clock of the leader of {} is {} ms behind that of the last leader."
                + " Facts of this partition are delayed by that time.",
            partition,
            behindMs);
      }
      last.behind = behind;
      last.ms = behind ? last.ms : record.timestamp();
      result.add(behind ? at(last.ms, record) : record);
    }
    return result;
  }

  private static ConsumerRecord<byte[], byte[]> at(
      long timestampMs, ConsumerRecord<byte[], byte[]> record) {
    return new ConsumerRecord<>(
        record.topic(),
        record.partition(),
        record.offset(),
        timestampMs,
        record.timestampType(),
        record.serializedKeySize(),
        record.serializedValueSize(),
        record.key(),
        record.value(),
        record.headers(),
        record.leaderEpoch(),
        record.deliveryCount());
  }

  @Override
  public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
    // Flink commits offsets only to show the progress of the job.
  }

  @Override
  public void configure(Map<String, ?> properties) {
    // There is nothing to configure.
  }

  @Override
  public void close() {
    // There is nothing to close.
  }
}
