package io.sparkfuse.windows.aggregates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.windows.wire.LaneSequence;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SequenceRangesTest {
  /**
   * The number of distinct sequence numbers does not depend on order, repetition, windows or
   * restores.
   */
  @Test
  void countsDistinctNumbersInAnyOrderAndPartition() {
    Random random = new Random(11);
    for (int round = 0; round < 200; round++) {
      List<Long> numbers = new ArrayList<>();
      for (int n = 0; n < 150; n++) {
        numbers.add((long) random.nextInt(200));
      }
      Collections.shuffle(numbers, random);
      SequenceRanges all = new SequenceRanges();
      SequenceRanges window = new SequenceRanges();
      for (long number : numbers) {
        window.add(number);
        if (random.nextInt(20) == 0) {
          all.merge(saved(window));
          window = new SequenceRanges();
          all = saved(all);
        }
      }
      all.merge(window);
      Set<Long> distinct = new HashSet<>(numbers);

      assertEquals(distinct.size(), all.seen());
      assertEquals(Collections.max(numbers) + 1, all.expected());
    }
  }

  /** With too many gaps, memory is limited, and the count of sequence numbers is never too high. */
  @Test
  void isBoundedAndNeverCountsTooMany() {
    SequenceRanges ranges = new SequenceRanges();
    int wide = 10 * SequenceRanges.MAX_RUNS;
    for (long number = 0; number < wide; number += 2) {
      ranges.add(number);
    }
    long withHoles = ranges.seen();
    for (long number = 1; number < wide; number += 2) {
      ranges.add(number);
    }

    assertEquals(wide / 2, withHoles);
    assertEquals(wide, ranges.expected());
    assertTrue(ranges.seen() >= withHoles && ranges.seen() < wide);
    assertTrue(lane(ranges).getFirstsCount() <= SequenceRanges.MAX_RUNS);
  }

  private static SequenceRanges saved(SequenceRanges ranges) {
    return SequenceRanges.restore(lane(ranges));
  }

  private static LaneSequence lane(SequenceRanges ranges) {
    LaneSequence.Builder lane = LaneSequence.newBuilder();
    ranges.save(lane);
    return lane.build();
  }
}
