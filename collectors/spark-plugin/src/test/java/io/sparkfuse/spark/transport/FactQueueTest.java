package io.sparkfuse.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.Lane;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class FactQueueTest {
  private static QueuedRecord fact(Lane lane) {
    return QueuedRecord.fact(lane, Fact.newBuilder(), 100);
  }

  private static FactQueue queue(int bulk, int reserved) {
    return new FactQueue(bulk, 1 << 30, reserved, 1 << 20);
  }

  @Test
  void droppedFactUsesItsNumber() throws Exception {
    FactQueue queue = queue(2, 2);
    for (int i = 0; i < 3; i++) {
      queue.offer(fact(Lane.BULK));
    }
    List<QueuedRecord> first = queue.take(10, 0);
    queue.offer(fact(Lane.BULK));

    assertEquals(2, first.size());
    assertEquals(1, queue.dropped(Lane.BULK));
    assertEquals(3, queue.take(10, 0).get(0).seq);
  }

  @Test
  void fullBulkLaneDoesNotAffectReservedLane() {
    FactQueue queue = queue(1, 1);
    queue.offer(fact(Lane.BULK));

    assertFalse(queue.offer(fact(Lane.BULK)));
    assertTrue(queue.offer(fact(Lane.RESERVED)));
    assertEquals(0, queue.dropped(Lane.RESERVED));
  }

  @Test
  void laneIsBoundedByBytes() {
    FactQueue queue = new FactQueue(1_000, 2_000, 1_000, 2_000);
    int taken = 0;
    for (int i = 0; i < 10; i++) {
      taken += queue.offer(fact(Lane.BULK)) ? 1 : 0;
    }

    assertEquals(2, taken);
  }

  @Test
  void bothLanesKeepArrivalOrder() throws Exception {
    FactQueue queue = queue(10, 10);
    queue.offer(fact(Lane.BULK));
    queue.offer(fact(Lane.RESERVED));
    queue.offer(fact(Lane.BULK));

    List<Lane> lanes =
        queue.take(10, 0).stream().map(item -> item.priority.lane).collect(Collectors.toList());
    assertEquals(java.util.Arrays.asList(Lane.BULK, Lane.RESERVED, Lane.BULK), lanes);
  }

  @Test
  void forwardedFactUsesNoNumber() throws Exception {
    FactQueue queue = queue(10, 10);
    queue.offer(QueuedRecord.forwarded(new byte[10]));
    queue.offer(fact(Lane.BULK));

    assertEquals(0, queue.take(10, 0).get(1).seq);
  }

  @Test
  void queuedStartIsRemovedByItsEnd() throws Exception {
    FactQueue queue = queue(10, 10);
    TestTaskFacts ends = new TestTaskFacts();
    queue.offer(ends.started(1));
    queue.offer(ends.started(2));
    queue.offer(ends.ended(1, "failed"));

    assertEquals(2, queue.waiting());
    List<QueuedRecord> batch = queue.take(10, 0);
    assertEquals(2, batch.get(0).fact.getTaskStarted().getTaskId());
    assertEquals(1, batch.get(1).fact.getTaskEnded().getTaskId());
    assertEquals(0, batch.get(0).seq);
    assertEquals(0, queue.dropped(Lane.BULK));
    assertEquals(0, queue.waitingBytes());
  }

  @Test
  void endOfStartAlreadyTakenIsKept() throws Exception {
    FactQueue queue = queue(1, 10);
    TestTaskFacts ends = new TestTaskFacts();
    queue.offer(ends.started(1));
    queue.take(10, 0);
    queue.offer(ends.started(2));
    queue.offer(ends.ended(1, "success"));

    assertEquals(2, queue.take(10, 0).size());
  }

  @Test
  void startStaysIfItsEndIsDropped() throws Exception {
    FactQueue queue = queue(10, 1);
    TestTaskFacts ends = new TestTaskFacts();
    queue.offer(fact(Lane.RESERVED));
    queue.offer(ends.started(1));

    assertFalse(queue.offer(ends.ended(1, "failed")));
    assertTrue(queue.take(10, 0).get(1).fact.hasTaskStarted());
  }

  @Test
  void concurrentOffersUseEachNumberOnce() throws Exception {
    int threads = 4;
    int each = 5_000;
    FactQueue queue = queue(threads * each, 10);
    CountDownLatch done = new CountDownLatch(threads);
    for (int t = 0; t < threads; t++) {
      new Thread(
              () -> {
                for (int i = 0; i < each; i++) {
                  queue.offer(fact(Lane.BULK));
                }
                done.countDown();
              })
          .start();
    }
    done.await();

    List<QueuedRecord> all = queue.take(threads * each, 0);
    assertEquals(threads * each, all.stream().map(item -> item.seq).distinct().count());
    assertEquals(threads * each - 1, all.get(all.size() - 1).seq);
  }
}
