package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.scheduler.AccumulableInfo;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.collection.mutable.HashMap;

class StageFactsTest {
  private static final String OUTPUT_ROWS = "number of output rows";
  private final HashMap<Object, AccumulableInfo> accumulables = new HashMap<>();

  private void add(long id, String name, Object value) {
    accumulables.put(
        id,
        new AccumulableInfo(
            id,
            Option.apply(name),
            Option.empty(),
            Option.apply(value),
            true,
            true,
            Option.apply("sql")));
  }

  @Test
  void largestOutputOfOperatorsIsUsed() {
    add(1, OUTPUT_ROWS, 40L);
    add(2, OUTPUT_ROWS, 9_000_000_000L);
    add(3, StageFacts.RESULT_SIZE, 1L << 50);
    add(4, null, 1L << 50);

    assertEquals(9_000_000_000L, StageFacts.largest(OUTPUT_ROWS, accumulables));
    assertEquals(1L << 50, StageFacts.largest(StageFacts.RESULT_SIZE, accumulables));
  }

  @Test
  void invalidRowCountsAreIgnored() {
    add(1, OUTPUT_ROWS, null);
    add(2, OUTPUT_ROWS, "40");
    add(3, OUTPUT_ROWS, -1L);

    assertEquals(0, StageFacts.largest(OUTPUT_ROWS, accumulables));
  }

  @Test
  void stageWithoutPlanHasNoRowCount() {
    assertEquals(0, StageFacts.largest(OUTPUT_ROWS, accumulables));
    assertEquals(0, StageFacts.largest(OUTPUT_ROWS, null));
  }
}
