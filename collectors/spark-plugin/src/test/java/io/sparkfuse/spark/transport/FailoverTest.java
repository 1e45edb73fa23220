package io.sparkfuse.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.safety.FaultCounter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests the fallback to a second cluster with clusters in memory. */
class FailoverTest {
  private static final Application APPLICATION = new Application("c", "t", "app-1", 0, 1);

  private enum State {
    WELL,
    /** Clients accept nothing, because the brokers cannot be reached. */
    AWAY,
    /** Clients accept records, and the brokers do not answer. */
    SILENT,
    /** Clients accept records, and the brokers refuse each of them. */
    REFUSING
  }

  private static final class Cluster implements RecordSink.Factory {
    final List<Integer> jobs = Collections.synchronizedList(new ArrayList<>());
    volatile State state = State.WELL;
    volatile int opened;
    volatile int closed;

    @Override
    public synchronized RecordSink open(DeliveryCounters deliveries) {
      opened++;
      return new Client(this, deliveries);
    }

    int sent() {
      return jobs.size();
    }
  }

  private static final class Client implements RecordSink {
    private final Cluster cluster;
    private final DeliveryCounters deliveries;
    private final UnacknowledgedRecords copies;

    Client(Cluster cluster, DeliveryCounters deliveries) {
      this.cluster = cluster;
      this.deliveries = deliveries;
      this.copies = new UnacknowledgedRecords(1 << 20, deliveries);
    }

    @Override
    public boolean send(String topic, String key, byte[] value) {
      State now = cluster.state;
      SentRecord copy = new SentRecord(topic, value);
      if (now == State.AWAY || !copies.add(copy)) {
        return false;
      }
      deliveries.acceptedOne();
      if (now == State.WELL) {
        cluster.jobs.add(jobOf(value));
        copies.acknowledged(copy);
      } else if (now == State.REFUSING) {
        copies.refused(copy);
      }
      return true;
    }

    private static int jobOf(byte[] value) {
      try {
        return Fact.parseFrom(value).getJobEnded().getJobId();
      } catch (Exception broken) {
        throw new IllegalStateException(broken);
      }
    }

    @Override
    public List<SentRecord> withdraw() {
      return copies.takeAll();
    }

    @Override
    public void close(long budgetMs) {
      cluster.closed++;
    }
  }

  private final Cluster home = new Cluster();
  private final Cluster fallback = new Cluster();
  private final FactQueue queue = new FactQueue(100, 1 << 20, 10_000, 1 << 24);
  private final FaultCounter faults = new FaultCounter("test");
  private final Sender sender =
      new Sender(
          queue,
          1 << 20,
          Arrays.asList(home, fallback),
          () -> APPLICATION,
          "driver-1",
          3_600_000,
          faults);
  private int offered;

  @AfterEach
  void noFaults() {
    assertEquals(0, faults.count());
  }

  private void offer(int jobs) {
    for (int i = 0; i < jobs; i++) {
      Fact.Builder fact =
          Fact.newBuilder()
              .setEventTimeMs(1)
              .setJobEnded(JobEnded.newBuilder().setJobId(offered++));
      queue.offer(QueuedRecord.fact(Lane.RESERVED, fact, 10));
    }
  }

  private static void await(String what, BooleanSupplier condition) throws Exception {
    long until = System.nanoTime() + 60_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < until, "still waiting for " + what);
      Thread.sleep(5);
    }
  }

  private void assertEachJobArrived() {
    List<Integer> all = new ArrayList<>(home.jobs);
    all.addAll(fallback.jobs);

    assertEquals(
        IntStream.range(0, offered).boxed().collect(Collectors.toList()),
        new ArrayList<>(new TreeSet<>(all)));
    assertEquals(all.size(), sender.routes().acknowledged());
    assertEquals(fallback.sent(), sender.routes().fallbackAcknowledged());
  }

  @Test
  void fallbackIsUntouchedWhileHomeIsWell() throws Exception {
    sender.start(() -> null);
    offer(500);
    await("the home cluster", () -> home.sent() == 500);

    assertEquals(0, sender.finish(10_000));
    assertEquals(0, fallback.opened);
    assertFalse(sender.routes().onFallback());
  }

  @Test
  void recordsGoToFallbackAndReturnHome() throws Exception {
    sender.start(() -> null);
    offer(10);
    await("the home cluster", () -> home.sent() == 10);
    home.state = State.AWAY;
    offer(10);
    await("the fallback", () -> fallback.sent() == 10);

    assertTrue(sender.routes().onFallback());
    assertEquals("closed", sender.routes().backoffState());
    home.state = State.WELL;
    await(
        "the return",
        () -> {
          offer(1);
          return !sender.routes().onFallback();
        });
    int before = fallback.sent();
    offer(10);
    assertEquals(0, sender.finish(10_000));
    assertEquals(before, fallback.sent());
    assertEachJobArrived();
    assertEquals(0, sender.routes().resent(), "the client at home accepted nothing that it lost");
  }

  @Test
  void homeAwayAtStartIsNoLoss() throws Exception {
    home.state = State.AWAY;
    sender.start(() -> null);
    offer(100);
    await("the fallback", () -> fallback.sent() == 100);

    assertEquals(0, sender.finish(10_000));
    assertEachJobArrived();
  }

  @Test
  void unacknowledgedRecordsAreSentToFallbackAndCounted() throws Exception {
    sender.start(() -> null);
    offer(1);
    await("the home cluster", () -> home.sent() == 1);
    home.state = State.SILENT;
    offer(20);
    await("the fallback", () -> fallback.sent() == 20);

    assertEquals(0, sender.finish(10_000));
    assertEachJobArrived();
    assertEquals(20, sender.routes().resent());
    assertEquals(0, sender.routes().pending());
    await("the silent client to be closed", () -> home.closed >= 1);
  }

  @Test
  void refusedRecordsAreSentToFallback() throws Exception {
    home.state = State.REFUSING;
    sender.start(() -> null);
    offer((int) SendBackoff.MAX_FAILURES);
    await("the fallback", () -> fallback.sent() == offered);

    assertEquals(0, sender.finish(10_000));
    assertEachJobArrived();
    assertEquals(0, sender.routes().failed());
  }

  @Test
  void recordThatOnlyOneClusterCouldStoreCountsAsFailed() throws Exception {
    sender.start(() -> null);
    home.state = State.REFUSING;
    offer(1);
    await("the refusal", () -> sender.routes().pending() == 1);
    home.state = State.WELL;
    offer(1);
    await("the next record", () -> home.sent() == 1);

    assertEquals(1, sender.routes().failed());
    assertEquals(1, sender.finish(10_000));
    assertEquals(0, fallback.sent());
  }

  @Test
  void bothAwayIsCounted() throws Exception {
    home.state = State.AWAY;
    fallback.state = State.AWAY;
    sender.start(() -> null);
    offer(50);
    await("both backoffs", () -> sender.routes().areAllOpen());

    assertEquals("open", sender.routes().backoffState());
    assertEquals(50, sender.finish(2_000));
    assertEquals(50, sender.waiting());
  }

  @Test
  void stoppingDoesNotWaitForSilentHome() throws Exception {
    home.state = State.SILENT;
    sender.start(() -> null);
    offer(20);
    await("the client at home", () -> sender.routes().pending() == 20);
    long abandoned = sender.finish(20_000);

    assertEquals(0, abandoned);
    assertEquals(20, fallback.sent());
    assertEachJobArrived();
  }

  @Test
  void stoppingDoesNotWaitForAbsentHome() throws Exception {
    home.state = State.AWAY;
    sender.start(() -> null);
    offer(20);
    // The budget is shorter than the backoff's patience.
    assertEquals(0, sender.finish(SendBackoff.PATIENCE_MS - 500));
    assertEquals(20, fallback.sent());
  }

  @Test
  void copiesHaveLimit() {
    DeliveryCounters deliveries = new DeliveryCounters();
    UnacknowledgedRecords copies = new UnacknowledgedRecords(1_000, deliveries);
    SentRecord large = new SentRecord("facts", new byte[2_000]);
    SentRecord small = new SentRecord("facts", new byte[100]);

    assertTrue(copies.add(large), "a single record always has room");
    assertFalse(copies.add(small));
    copies.acknowledged(large);
    assertTrue(copies.add(small));
    assertEquals(Collections.singletonList(small), copies.takeAll());
    copies.acknowledged(small);
    assertEquals(1, deliveries.acknowledged(), "results of records that were taken back are void");
  }
}
