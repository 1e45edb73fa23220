package io.sparkfuse.spark.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.spark.transport.QueuedRecord.Priority;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BacklogTest {
  private static byte[] record(Random random, int most) {
    byte[] bytes = new byte[1 + random.nextInt(most)];
    random.nextBytes(bytes);
    return bytes;
  }

  @Test
  void recordsAreReturnedInOrder() {
    Backlog backlog = new Backlog(64 << 20);
    Random in = new Random(1);
    Random out = new Random(1);
    int waiting = 0;
    for (int i = 0; i < 5_000; i++) {
      assertTrue(
          backlog.add(i % 3 == 0 ? "receipts" : "facts", Priority.MANY, false, record(in, 900)));
      waiting++;
      if (i % 7 == 6) { // read while it is filled
        for (int k = 0; k < 4; k++, waiting--) {
          assertArrayEquals(record(out, 900), backlog.first().value);
          backlog.removeFirst();
        }
      }
    }
    assertEquals(waiting, backlog.waiting());
    while (backlog.first() != null) {
      assertArrayEquals(record(out, 900), backlog.first().value);
      backlog.removeFirst();
      waiting--;
    }

    assertEquals(0, waiting);
    assertEquals(0, backlog.bytes(), "an empty line holds no memory");
  }

  @Test
  void recordLargerThanBlockIsStored() {
    Backlog backlog = new Backlog(8 << 20);
    byte[] large = record(new Random(3), 1);
    large = java.util.Arrays.copyOf(large, 3 * Backlog.BLOCK_BYTES);
    backlog.add("facts", Priority.RESERVED, false, new byte[] {1});
    backlog.add("receipts", Priority.RESERVED, false, large);
    backlog.add("facts", Priority.RESERVED, false, new byte[] {2});
    backlog.removeFirst();

    assertEquals("receipts", backlog.first().topic);
    assertArrayEquals(large, backlog.first().value);
    backlog.removeFirst();
    assertArrayEquals(new byte[] {2}, backlog.first().value);
    backlog.removeFirst();
    assertNull(backlog.first());
  }

  /** The backlog refuses a record of an unknown topic, because it could not restore the topic. */
  @Test
  void otherTopicIsRefused() {
    assertThrows(
        IllegalArgumentException.class,
        () -> new Backlog(1 << 20).add("actions", Priority.RESERVED, false, new byte[] {1}));
  }

  @Test
  void lowerPriorityIsRefusedFirst() {
    Backlog backlog = new Backlog(1 << 20);
    Random random = new Random(5);
    while (backlog.add("facts", Priority.BULK, false, record(random, 500))) {}
    long bulk = backlog.bytes();
    assertTrue(backlog.add("facts", Priority.MANY, false, new byte[100]));
    while (backlog.add("facts", Priority.MANY, false, record(random, 500))) {}
    assertTrue(
        backlog.add("facts", Priority.RESERVED, false, new byte[100]),
        "an end of a stage has room");
    while (backlog.add("facts", Priority.RESERVED, false, record(random, 500))) {}

    assertTrue(bulk <= 0.05 * (1 << 20) + Backlog.BLOCK_BYTES, "" + bulk);
    assertTrue(backlog.bytes() <= (1 << 20) + Backlog.BLOCK_BYTES, "" + backlog.bytes());
    assertFalse(backlog.add("facts", Priority.BULK, false, new byte[1]));
  }
}
