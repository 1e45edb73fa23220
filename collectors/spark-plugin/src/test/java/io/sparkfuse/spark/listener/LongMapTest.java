package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class LongMapTest {
  private static List<Long> ids(LongMap values) {
    List<Long> ids = new ArrayList<>();
    values.forEachId(ids::add);
    return ids;
  }

  @Test
  void behavesLikeMap() {
    Map<Long, Long> truth = new TreeMap<>();
    LongMap values = new LongMap(10_000);
    Random random = new Random(7);
    for (int i = 0; i < 20_000; i++) {
      long id = (random.nextLong() >>> 1) % 5_000;
      truth.put(id, (long) i);
      values.put(id, i);
    }

    assertEquals(new ArrayList<>(truth.keySet()), ids(values));
    truth.forEach((id, value) -> assertEquals(value, values.get(id)));
    assertEquals(truth.size(), values.size());
    assertEquals(0, values.leftOut());
  }

  @Test
  void expectedIdHasNoValueUntilPut() {
    LongMap values = new LongMap(10);
    values.expect(4);
    values.expect(2);
    values.put(2, 0);
    values.expect(2);

    assertEquals(Arrays.asList(2L), ids(values));
    assertEquals(2, values.size());
    assertFalse(values.expects(3));
  }

  @Test
  void idsBeyondLimitAreCounted() {
    LongMap values = new LongMap(2);
    values.put(1, 10);
    values.put(2, 20);
    values.put(3, 30);
    values.put(1, 11);
    values.put(-1, 5);

    assertEquals(Arrays.asList(1L, 2L), ids(values));
    assertEquals(11, values.get(1));
    assertEquals(1, values.leftOut());
  }
}
