package io.sparkfuse.windows.aggregates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.sparkfuse.windows.wire.SlowestTask;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.table.data.StringData;
import org.junit.jupiter.api.Test;

class SlowestTaskAggregateTest {
  private final SlowestTaskAggregate function = new SlowestTaskAggregate();

  private record Sample(Integer index, Long ms, Long bytes, Long gcMs, String executor) {}

  /**
   * In any order of arrival and merging, the longest task is returned; of equally long tasks, the
   * one with the lowest index.
   */
  @Test
  void isIndependentOfOrder() throws Exception {
    List<Sample> samples =
        new ArrayList<>(
            List.of(
                new Sample(5, 900L, null, null, "9"),
                new Sample(4, 900L, 7L, 3L, "2"),
                new Sample(4, 900L, 7L, 3L, "1"),
                new Sample(4, 900L, 6L, 99L, "8"),
                new Sample(1, 899L, 1_000_000L, 5L, "3"),
                new Sample(0, null, 4L, 5L, "4"),
                new Sample(null, 1_000L, 4L, 5L, "5")));
    for (int round = 0; round < 50; round++) {
      Collections.shuffle(samples, new Random(round));
      SlowestTaskAggregate.Slowest first = function.createAccumulator();
      SlowestTaskAggregate.Slowest second = function.createAccumulator();
      samples.subList(0, 3).forEach(one -> add(first, one));
      samples.subList(3, 7).forEach(one -> add(second, one));
      SlowestTaskAggregate.Slowest whole = saved(first);
      function.merge(whole, List.of(saved(second)));

      assertEquals(
          SlowestTask.newBuilder()
              .setTaskIndex(4)
              .setMs(900)
              .setBytes(7)
              .setGcMs(3)
              .setExecutorId("2")
              .setHost("h2")
              .build(),
          SlowestTaskAggregate.decode(function.getValue(whole)));
    }
  }

  /** Without a succeeded task the result is NULL, before and after a checkpoint. */
  @Test
  void isEmptyWithoutTasks() throws Exception {
    SlowestTaskAggregate.Slowest nothing = function.createAccumulator();

    assertNull(function.getValue(nothing));
    assertNull(function.getValue(saved(nothing)));
    assertNull(SlowestTaskAggregate.decode(null));
  }

  private void add(SlowestTaskAggregate.Slowest slowest, Sample one) {
    function.accumulate(
        slowest,
        one.index,
        one.ms,
        one.bytes,
        one.gcMs,
        StringData.fromString(one.executor),
        StringData.fromString("h" + one.executor));
  }

  private static SlowestTaskAggregate.Slowest saved(SlowestTaskAggregate.Slowest slowest)
      throws Exception {
    SlowestTaskAggregate.Serializer serializer = new SlowestTaskAggregate.Serializer();
    DataOutputSerializer out = new DataOutputSerializer(64);
    serializer.serialize(slowest, out);
    return serializer.deserialize(new DataInputDeserializer(out.getCopyOfBuffer()));
  }
}
