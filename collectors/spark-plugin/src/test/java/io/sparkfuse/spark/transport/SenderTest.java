package io.sparkfuse.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.safety.Faults;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class SenderTest {
  private static final Application APPLICATION = new Application("c", "t", "app-1", 0, 1);

  /** Takes records, or throws like a client that cannot be made. */
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

  private static Sender sender(FactQueue queue, RecordSink.Factory sinks) {
    return new Sender(
        queue, 1 << 20, sinks, () -> APPLICATION, "driver-1", 3_600_000, new Faults("test"));
  }

  private static Outgoing jobEnded(int job) {
    Fact.Builder fact =
        Fact.newBuilder().setEventTimeMs(1).setJobEnded(JobEnded.newBuilder().setJobId(job));
    return Outgoing.fact(Lane.RESERVED, fact, 10);
  }

  @Test
  void finishBringsOutAllThatWaitsAndAHealthFactAtTheEnd() {
    Memory memory = new Memory();
    FactQueue queue = new FactQueue(100, 1 << 20, 100, 1 << 20);
    Sender sender =
        sender(
            queue,
            deliveries -> {
              deliveries.tookOne();
              deliveries.acknowledgedOne();
              return memory;
            });
    for (int i = 0; i < 50; i++) {
      queue.offer(jobEnded(i));
    }
    sender.start(
        () ->
            Outgoing.fact(
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
  void aClientThatCannotBeMadeCostsNoMoreThanTheBudget() {
    FactQueue queue = new FactQueue(100, 1 << 20, 100, 1 << 20);
    Sender sender =
        sender(
            queue,
            deliveries -> {
              throw new IllegalStateException("no such host");
            });
    queue.offer(jobEnded(1));
    sender.start(() -> null);

    // Far above the budget, which a busy machine alone may exceed: who waits for the client waits
    // for ever.
    long abandoned = assertTimeoutPreemptively(Duration.ofSeconds(30), () -> sender.finish(1_000));

    assertEquals(1, abandoned);
  }
}
