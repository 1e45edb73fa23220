package io.sparkfuse.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.safety.FaultCounter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class SenderTest {
  private static final Application APPLICATION = new Application("c", "t", "app-1", 0, 1);

  /** Accepts records, or throws like a client that cannot be created. */
  private static final class Memory implements RecordSink {
    final List<Fact> facts = Collections.synchronizedList(new ArrayList<>());

    @Override
    public boolean send(String topic, String key, byte[] value) {
      try {
        facts.add(Fact.parseFrom(value));
      } catch (Exception broken) {
        throw new IllegalStateException(broken);
      }
      return true;
    }

    @Override
    public void close(long budgetMs) {}
  }

  /** Dies after the first record, like a client whose own thread ended with an Error. */
  private static final class Mortal implements RecordSink {
    private final DeliveryCounters deliveries;
    private volatile boolean dead;

    Mortal(DeliveryCounters deliveries) {
      this.deliveries = deliveries;
    }

    @Override
    public boolean send(String topic, String key, byte[] value) {
      deliveries.acceptedOne();
      dead = true;
      return true;
    }

    @Override
    public boolean alive() {
      return !dead;
    }

    @Override
    public void close(long budgetMs) {}
  }

  private static Sender sender(FactQueue queue, RecordSink.Factory sinks) {
    return new Sender(
        queue,
        1 << 20,
        Collections.singletonList(sinks),
        () -> APPLICATION,
        "driver-1",
        3_600_000,
        new FaultCounter("test"));
  }

  private static QueuedRecord jobEnded(int job) {
    Fact.Builder fact =
        Fact.newBuilder().setEventTimeMs(1).setJobEnded(JobEnded.newBuilder().setJobId(job));
    return QueuedRecord.fact(Lane.RESERVED, fact, 10);
  }

  @Test
  void finishSendsWaitingRecordsAndHealth() {
    Memory memory = new Memory();
    FactQueue queue = new FactQueue(100, 1 << 20, 100, 1 << 20);
    Sender sender =
        sender(
            queue,
            deliveries -> {
              deliveries.acceptedOne();
              deliveries.acknowledgedOne();
              return memory;
            });
    for (int i = 0; i < 50; i++) {
      queue.offer(jobEnded(i));
    }
    sender.start(
        () ->
            QueuedRecord.fact(
                Lane.BULK,
                Fact.newBuilder()
                    .setEventTimeMs(2)
                    .setCollectorHealth(CollectorHealth.newBuilder().setQueued(0)),
                10));
    long abandoned = sender.finish(60_000);

    assertEquals(0, abandoned);
    assertEquals(50, memory.facts.stream().filter(Fact::hasJobEnded).count());
    assertTrue(memory.facts.get(memory.facts.size() - 1).hasCollectorHealth());
    assertEquals("app-1", memory.facts.get(0).getAppId());
    assertEquals(16, memory.facts.get(0).getEventId().size());
  }

  @Test
  void failingClientKeepsTimeLimit() {
    FactQueue queue = new FactQueue(100, 1 << 20, 100, 1 << 20);
    Sender sender =
        sender(
            queue,
            deliveries -> {
              throw new IllegalStateException("no such host");
            });
    queue.offer(jobEnded(1));
    sender.start(() -> null);

    // Far above the time limit, which a busy host alone may exceed; a hang would never end.
    long abandoned = assertTimeoutPreemptively(Duration.ofSeconds(30), () -> sender.finish(1_000));

    assertEquals(1, abandoned);
  }

  @Test
  void deadClientIsReplacedAndCounted() {
    Memory memory = new Memory();
    AtomicInteger opened = new AtomicInteger();
    FactQueue queue = new FactQueue(100, 1 << 20, 100, 1 << 20);
    Sender sender =
        sender(
            queue, deliveries -> opened.getAndIncrement() == 0 ? new Mortal(deliveries) : memory);
    sender.start(() -> null);
    queue.offer(jobEnded(0));
    assertTimeoutPreemptively(
        Duration.ofSeconds(60),
        () -> {
          while (sender.routes().failed() < 1) {
            Thread.yield();
          }
        });
    queue.offer(jobEnded(1));
    long abandoned = sender.finish(60_000);

    assertEquals(1, abandoned, "what the dead client held");
    assertEquals(1, memory.facts.size());
    assertEquals(1, memory.facts.get(0).getJobEnded().getJobId());
  }

  @Test
  void dyingClientsOpenBackoff() {
    AtomicInteger opened = new AtomicInteger();
    FactQueue queue = new FactQueue(100, 1 << 20, 100, 1 << 20);
    Sender sender =
        sender(
            queue,
            deliveries -> {
              opened.incrementAndGet();
              Mortal born = new Mortal(deliveries);
              born.dead = true;
              return born;
            });
    sender.start(() -> null);
    queue.offer(jobEnded(0));
    assertTimeoutPreemptively(
        Duration.ofSeconds(120),
        () -> {
          while (!sender.routes().backoffState().equals("open")) {
            Thread.yield();
          }
        });
    int tries = opened.get();
    long abandoned = sender.finish(1_000);

    assertTrue(tries >= 2, "it was tried again");
    assertEquals(1, abandoned);
    assertEquals(0, sender.routes().failed(), "none of them was given the record");
  }

  /**
   * Receipts and facts wait together until the broker accepts records; each record keeps its topic.
   */
  @Test
  void receiptThatWaitedIsSentUnchanged() {
    List<String> sent = Collections.synchronizedList(new ArrayList<>());
    AtomicInteger tried = new AtomicInteger();
    FactQueue queue = new FactQueue(100, 1 << 20, 100, 1 << 20);
    FaultCounter faults = new FaultCounter("test");
    RecordSink sink =
        new RecordSink() {
          @Override
          public boolean send(String topic, String key, byte[] value) {
            if (tried.getAndIncrement() == 0) {
              return false;
            }
            boolean receipt = topic.equals("receipts");
            sent.add(topic + (receipt ? new String(value, StandardCharsets.UTF_8) : ""));
            return true;
          }

          @Override
          public void close(long budgetMs) {}
        };
    Sender sender =
        new Sender(
            queue,
            1 << 20,
            Collections.singletonList(deliveries -> sink),
            () -> APPLICATION,
            "driver-1",
            3_600_000,
            faults);
    queue.offer(jobEnded(0));
    queue.offer(QueuedRecord.receipt("{\"outcome\":\"ended\"}".getBytes(StandardCharsets.UTF_8)));
    queue.offer(jobEnded(1));
    sender.start(() -> null);
    assertTimeoutPreemptively(
        Duration.ofSeconds(60),
        () -> {
          while (sent.size() < 3) {
            Thread.yield();
          }
        });
    sender.finish(60_000);

    assertEquals(Arrays.asList("facts", "receipts{\"outcome\":\"ended\"}", "facts"), sent);
    assertEquals(0, faults.count());
  }

  @Test
  void fullHeapLosesNeitherRecordNorClient() {
    Memory memory = new Memory();
    AtomicInteger opened = new AtomicInteger();
    AtomicInteger tried = new AtomicInteger();
    FactQueue queue = new FactQueue(100, 1 << 20, 100, 1 << 20);
    FaultCounter faults = new FaultCounter("test");
    Sender sender =
        new Sender(
            queue,
            1 << 20,
            Collections.singletonList(
                deliveries -> {
                  opened.incrementAndGet();
                  return new RecordSink() {
                    @Override
                    public boolean send(String topic, String key, byte[] value) {
                      if (tried.getAndIncrement() == 0) {
                        throw new OutOfMemoryError("no room, for a test");
                      }
                      return memory.send(topic, key, value);
                    }

                    @Override
                    public void close(long budgetMs) {}
                  };
                }),
            () -> APPLICATION,
            "driver-1",
            3_600_000,
            faults);
    queue.offer(jobEnded(0));
    sender.start(() -> null);
    long abandoned = sender.finish(60_000);

    assertEquals(0, abandoned);
    assertEquals(1, memory.facts.size());
    assertEquals(1, opened.get());
    assertEquals(1, faults.count());
  }

  @Test
  void unencodableBatchIsOneFault() {
    Application nameless = new Application(null, "t", "app-1", 0, 1); // cannot be encoded
    FactQueue queue = new FactQueue(10, 1 << 20, 2_000, 1 << 24);
    FaultCounter faults = new FaultCounter("test", 100);
    Sender sender =
        new Sender(
            queue,
            1 << 20,
            Collections.singletonList(deliveries -> new Memory()),
            () -> nameless,
            "driver-1",
            3_600_000,
            faults);
    for (int i = 0; i < 500; i++) {
      queue.offer(jobEnded(i));
    }
    sender.start(() -> null);
    sender.finish(60_000);

    assertEquals(500, queue.dropped(Lane.RESERVED));
    assertEquals(2, faults.count());
    assertTrue(faults.on());
  }
}
