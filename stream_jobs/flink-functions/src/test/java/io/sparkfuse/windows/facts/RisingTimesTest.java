package io.sparkfuse.windows.facts;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.flink.kafka.shaded.org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.flink.kafka.shaded.org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.flink.kafka.shaded.org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.flink.kafka.shaded.org.apache.kafka.common.TopicPartition;
import org.apache.flink.kafka.shaded.org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.flink.kafka.shaded.org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;

class RisingTimesTest {
  private static final long START_MS = 1_700_000_000_000L;
  private static final byte[] VALUE = {7};
  private final RisingTimes interceptor = new RisingTimes();
  private long offset;

  /** Reads records of one partition; returns their times after {@code START_MS}. */
  private List<Long> read(int partition, long... afterMs) {
    TopicPartition place = new TopicPartition("facts", partition);
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    for (long after : afterMs) {
      records.add(
          new ConsumerRecord<>(
              "facts",
              partition,
              offset++,
              START_MS + after,
              TimestampType.LOG_APPEND_TIME,
              -1,
              1,
              null,
              VALUE,
              new RecordHeaders(),
              Optional.of(3)));
    }
    Map<TopicPartition, OffsetAndMetadata> next = Map.of(place, new OffsetAndMetadata(offset));
    ConsumerRecords<byte[], byte[]> read =
        interceptor.onConsume(new ConsumerRecords<>(Map.of(place, records), next));

    assertEquals(next, read.nextOffsets());
    List<Long> times = new ArrayList<>();
    for (int at = 0; at < records.size(); at++) {
      ConsumerRecord<byte[], byte[]> record = read.records(place).get(at);
      assertEquals(records.get(at).offset(), record.offset());
      assertEquals(VALUE, record.value());
      assertEquals(Optional.of(3), record.leaderEpoch());
      times.add(record.timestamp() - START_MS);
    }
    return times;
  }

  @Test
  void risingTimesDoNotChange() {
    assertEquals(List.of(0L, 5L, 5L, 40_000L), read(0, 0, 5, 5, 40_000));
  }

  @Test
  void earlierTimesBecomeTheNewestTime() {
    assertEquals(List.of(60_000L), read(0, 60_000));
    assertEquals(List.of(60_000L, 60_000L), read(0, 30_000, 59_999));
    assertEquals(List.of(60_000L, 60_001L), read(0, 60_000, 60_001));
  }

  @Test
  void eachPartitionHasItsOwnTime() {
    assertEquals(List.of(60_000L), read(0, 60_000));
    assertEquals(List.of(30_000L), read(1, 30_000));
    assertEquals(List.of(60_000L), read(0, 30_000));
  }

  @Test
  void timeFarInTheFutureDoesNotStopThePartition() {
    long year = 365L * 86_400_000;

    assertEquals(List.of(0L, year, 1_000L, 1_000L), read(0, 0, year, 1_000, 500));
  }

  @Test
  void largestDifferenceIsCorrected() {
    long most = RisingTimes.MAX_BEHIND_MS;

    assertEquals(List.of(most, most), read(0, most, 0));
    assertEquals(List.of(most + 1, 0L), read(1, most + 1, 0));
  }
}
