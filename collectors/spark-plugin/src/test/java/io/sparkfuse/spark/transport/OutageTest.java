package io.sparkfuse.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.EventIds;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.safety.FaultCounter;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Tests one minute without a broker, at 2,000 tasks a second, with the default memory of the queue.
 */
class OutageTest {
  private static final Application APPLICATION =
      new Application("c", "t", "application_1700000000000_0001", 1, 1_700_000_000_000L);
  private static final int TASKS = 120_000;

  /** Number of concurrent tasks: more than fit into the queue, so that no start is left out. */
  private static final int AT_ONCE = 4_000;

  private static final long QUEUE_BYTES = 23L << 20;

  /** Accepts nothing while the broker is away. */
  private static final class Broker implements RecordSink {
    final List<byte[]> taken = Collections.synchronizedList(new ArrayList<>());
    final DeliveryCounters deliveries;
    volatile boolean away = true;

    Broker(DeliveryCounters deliveries) {
      this.deliveries = deliveries;
    }

    @Override
    public boolean send(String topic, String key, byte[] value) {
      if (away) {
        return false;
      }
      taken.add(value);
      deliveries.acceptedOne();
      deliveries.acknowledgedOne();
      return true;
    }

    @Override
    public void close(long budgetMs) {}
  }

  @Test
  void guarantee_02_minuteWithoutBrokerLosesNoEnd() throws Exception {
    long room = QUEUE_BYTES / 3 * 2;
    long lanes = QUEUE_BYTES - room;
    FactQueue queue = new FactQueue(20_000, lanes / 3, 20_000, lanes - lanes / 3);
    Broker[] broker = new Broker[1];
    Sender sender =
        new Sender(
            queue,
            room,
            Collections.singletonList(deliveries -> broker[0] = new Broker(deliveries)),
            () -> APPLICATION,
            "driver-1",
            3_600_000,
            new FaultCounter("test"));
    sender.start(() -> null);
    TestTaskFacts ends = new TestTaskFacts();
    for (long start = 0; start < TASKS + AT_ONCE; start++) {
      long task = start - AT_ONCE;
      if (start < TASKS) {
        queue.offer(ends.started(start));
      }
      if (task >= 0) {
        queue.offer(ends.ended(task, task % 1_000 == 0 ? "failed" : "success"));
      }
      while (queue.waiting() > 2_000) { // the pace of a fast host
        Thread.sleep(1);
      }
    }
    awaitAll("the queue to be emptied", () -> queue.waiting() == 0);
    long bytes = sender.waitingBytes();
    broker[0].away = false;
    awaitAll("all that waited to be sent", () -> sender.waiting() == 0);
    sender.finish(2_000);

    assertEquals(0, queue.dropped(Lane.RESERVED));
    assertTrue(queue.dropped(Lane.BULK) > 0, "this much is more than all has room");
    assertTrue(bytes <= room, bytes + " bytes waited");
    assertEveryEndOnceAndInOrder(broker[0].taken);
  }

  private static void assertEveryEndOnceAndInOrder(List<byte[]> records) throws Exception {
    BitSet ended = new BitSet(TASKS);
    EventIds ids = new EventIds();
    long nextReserved = 0;
    for (byte[] bytes : records) {
      Fact fact = Fact.parseFrom(bytes);
      if (fact.hasTaskEnded()) {
        assertEquals(nextReserved++, fact.getSeq());
        assertEquals(ids.of(fact), fact.getEventId());
        ended.set((int) fact.getTaskEnded().getTaskId());
      }
    }

    assertEquals(TASKS, ended.cardinality());
    assertEquals(TASKS, nextReserved);
  }

  private static void awaitAll(String what, java.util.function.BooleanSupplier done)
      throws Exception {
    long until = System.nanoTime() + 60_000_000_000L;
    while (!done.getAsBoolean()) {
      assertTrue(System.nanoTime() < until, "still waiting for " + what);
      Thread.sleep(5);
    }
  }
}
