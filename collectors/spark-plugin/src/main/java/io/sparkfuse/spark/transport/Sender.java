package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.FactEncoder;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.SteadyClock;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * The only thread that encodes records and calls the Kafka client.
 *
 * <p>The sender always empties the queue. Records that the client does not accept wait in
 * compressed form in the {@link Backlog}, so facts are lost only when the backlog is full. {@link
 * #finish} returns within its time limit, whatever the state of the broker.
 */
public final class Sender {
  private static final int BATCH = 256;

  /**
   * Time between two passes while the queue holds fewer than {@link FactQueue#MANY} facts. Facts
   * wait in the queue and not in the client, because each request costs the client and the broker a
   * millisecond of CPU. Unlike a wait in the client, this wait ends immediately when the
   * application stops.
   */
  private static final long WAIT_MS = 500;

  /** Time for closing the clients after the last records. */
  private static final long CLOSE_MS = 200;

  /** Maximum number of records from the backlog before the queue is read again. */
  private static final int MAX_IN_A_ROW = 1_000;

  /** Creates the health fact that is sent every few seconds. */
  public interface Health {
    QueuedRecord now();
  }

  private final FactQueue queue;
  private final Backlog backlog;
  private final Supplier<Application> application;
  private final FactEncoder encoder;
  private final FaultCounter faults;
  private final Routes routes;
  private final Thread thread;
  private final long healthIntervalMs;
  private Health health = () -> null;
  private long nextHealthMs = SteadyClock.ms();
  private volatile boolean stopping;
  private volatile long drainUntilMs = Long.MAX_VALUE;
  private volatile long closeUntilMs = Long.MAX_VALUE;

  /**
   * Creates a sender.
   *
   * @param application returns null until the application is known; until then, nothing is sent
   * @param backlogBytes maximum memory of records that wait for the broker
   * @param sinks open the clients of the Kafka clusters, the preferred cluster first
   */
  public Sender(
      FactQueue queue,
      long backlogBytes,
      List<RecordSink.Factory> sinks,
      Supplier<Application> application,
      String collector,
      long healthIntervalMs,
      FaultCounter faults) {
    this.queue = queue;
    this.backlog = new Backlog(backlogBytes);
    this.routes = new Routes(sinks, faults);
    this.application = application;
    this.encoder = new FactEncoder(collector);
    this.healthIntervalMs = healthIntervalMs;
    this.faults = faults;
    this.thread = DaemonThreads.of("sender", faults, this::run);
  }

  /** Starts the thread; the Kafka client is created later. */
  public void start(Health source) {
    health = source;
    thread.start();
  }

  /** Returns the clusters that get the records, with the results of the records. */
  public Routes routes() {
    return routes;
  }

  /** Returns how many facts were shortened to fit into a record. */
  public long cutFacts() {
    return encoder.cutFacts();
  }

  /** Returns how many records wait, encoded or not. */
  public long waiting() {
    return queue.waiting() + unsent();
  }

  /** Returns the approximate memory of the waiting records in bytes. */
  public long waitingBytes() {
    return queue.waitingBytes() + backlog.bytes() + routes.waitingBytes();
  }

  /**
   * Sends waiting records and a last health fact, and closes the client, within {@code budgetMs}.
   *
   * @return the number of records that were not sent
   */
  public long finish(long budgetMs) {
    long now = SteadyClock.ms();
    drainUntilMs = now + budgetMs / 2;
    closeUntilMs = now + budgetMs - 50;
    routes.stopSoon();
    stopping = true;
    try {
      synchronized (queue) {
        queue.notifyAll();
      }
      thread.join(budgetMs);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    return waiting() + routes.pending() + routes.failed();
  }

  /** Returns how many encoded records wait. */
  private int unsent() {
    return backlog.waiting() + routes.waiting();
  }

  private void run() {
    while (faults.on() && !(stopping && drained())) {
      try {
        runOnce();
      } catch (Throwable fault) {
        faults.caught(fault);
        pause();
      }
    }
    end();
  }

  private void runOnce() throws InterruptedException, IOException {
    if (application.get() == null) {
      Thread.sleep(WAIT_MS);
      return;
    }
    offerHealthWhenDue();
    routes.refresh(); // a dead client's records are counted even if no record follows
    boolean idle = unsent() == 0 || !routes.isClosed();
    deliver(queue.take(BATCH, idle ? WAIT_MS : 1));
    sendWaiting();
  }

  /**
   * Delivers a batch. Each record that cannot be encoded counts as dropped, but all of them
   * together count as one fault. If the heap is full, all records of the batch fail together; after
   * a garbage collection, there is room again.
   */
  private void deliver(List<QueuedRecord> batch) {
    Throwable last = null;
    for (QueuedRecord item : batch) {
      Throwable failure = deliver(item);
      last = failure == null ? last : failure;
    }
    if (last != null) {
      faults.caught(last);
      pause();
    }
  }

  /** Pauses after a fault, because its cause, such as a full heap, may last. */
  private static void pause() {
    try {
      LockSupport.parkNanos(WAIT_MS * 1_000_000);
    } catch (Throwable ignored) { // not enough memory to load LockSupport
    }
  }

  private boolean drained() {
    return waiting() == 0 || application.get() == null || stopsWaiting();
  }

  /** Returns whether the remaining records are given up because the application is stopping. */
  private boolean stopsWaiting() {
    return stopping && (routes.areAllOpen() || SteadyClock.ms() >= drainUntilMs);
  }

  private void offerHealthWhenDue() {
    if (SteadyClock.ms() >= nextHealthMs) {
      nextHealthMs = SteadyClock.ms() + healthIntervalMs;
      offerHealth();
    }
  }

  private void offerHealth() {
    QueuedRecord fact = health.now();
    if (fact != null) {
      queue.offer(fact);
    }
  }

  /**
   * Sends one record or adds it to the backlog. Returns why the record could not be encoded, or
   * null.
   */
  private Throwable deliver(QueuedRecord item) {
    boolean handled = false;
    Throwable why = null;
    try {
      byte[] value = item.ready;
      if (value == null) {
        value = encoder.encode(item.fact, application.get(), item.priority.lane, item.seq);
      }
      handled = unsent() == 0 && send(item.topic, value) || addToBacklog(item, value);
    } catch (Throwable failure) {
      why = failure;
    }
    if (!handled) { // the gap in the sequence numbers shows the loss
      queue.countDropped(item.priority.lane);
    }
    return why;
  }

  /**
   * Adds a record to the backlog, without its event id, which does not compress and can be computed
   * again.
   */
  private boolean addToBacklog(QueuedRecord item, byte[] value) {
    boolean bare = item.fact != null;
    byte[] stored = bare ? FactEncoder.withoutId(value) : value;
    return backlog.add(item.topic, item.priority, bare, stored);
  }

  private boolean send(String topic, byte[] value) {
    return routes.send(topic, application.get().id, value);
  }

  private void sendWaiting() throws IOException {
    if (!routes.sendReturned(application.get().id)) {
      return;
    }
    for (int i = 0; i < MAX_IN_A_ROW && backlog.waiting() > 0; i++) {
      if (!routes.allow(SteadyClock.ms())) {
        return;
      }
      Backlog.Waiting first = backlog.first();
      if (!send(first.topic, valueOf(first))) {
        return;
      }
      backlog.removeFirst();
    }
  }

  /**
   * Returns the bytes to send. A record that cannot be read is dropped, because it must not block
   * the records behind it.
   */
  private byte[] valueOf(Backlog.Waiting first) throws IOException {
    try {
      return first.bare ? encoder.withId(first.value) : first.value;
    } catch (IOException unreadable) {
      backlog.removeFirst();
      queue.countDropped(Lane.RESERVED);
      throw unreadable;
    }
  }

  private void end() {
    try {
      if (application.get() != null && routes.hasFallback()) {
        resendUnacknowledged();
      }
      if (routes.acknowledged() > 0 && !stopsWaiting()) {
        awaitDeliveries(Math.min(drainUntilMs, SteadyClock.ms() + 300));
        offerHealth();
        deliver(queue.take(BATCH, 0));
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
    routes.close(Math.max(50, Math.min(1_000, closeUntilMs - SteadyClock.ms())));
  }

  /** Waits for pending records. If a cluster acknowledges none, another cluster gets them. */
  private void resendUnacknowledged() throws InterruptedException, IOException {
    long[] before = routes.acknowledgedByRoute();
    awaitDeliveries(drainUntilMs);
    routes.takeBackFromSilent(before);
    long untilMs = closeUntilMs - CLOSE_MS;
    while (unsent() > 0 && !routes.areAllOpen() && SteadyClock.ms() < untilMs) {
      sendWaiting();
      Thread.sleep(5);
    }
    awaitDeliveries(untilMs);
  }

  /** Waits for pending records, so that the last health fact includes them. */
  private void awaitDeliveries(long untilMs) throws InterruptedException {
    while (routes.pending() > 0 && SteadyClock.ms() < untilMs) {
      Thread.sleep(5);
    }
  }
}
