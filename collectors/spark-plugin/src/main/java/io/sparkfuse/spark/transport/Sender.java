package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.FactEncoder;
import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.safety.SteadyClock;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * The one thread that makes records and talks to the broker.
 *
 * <p>It always empties the queue. What the client does not take waits, encoded and deflated, in the
 * {@link Backlog}, so that a broker that is away costs room there first and facts only when that is
 * full. {@link #finish} returns within its budget, whatever the broker does.
 */
public final class Sender {
  private static final int BATCH = 256;

  /**
   * Between two looks into a queue that is not {@link FactQueue#MANY} long. Facts gather here and
   * not in the client, because each request costs the client and the broker a millisecond of CPU,
   * and because at the end this wait is cut short where the client's would not be.
   */
  private static final long WAIT_MS = 500;

  /** So many waiting records go before the queue is looked at again. */
  private static final int MAX_IN_A_ROW = 1_000;

  /** Tells how the collector stands, for the fact that is sent every few seconds. */
  public interface Health {
    QueuedRecord now();
  }

  private final FactQueue queue;
  private final Backlog backlog;
  private final Supplier<Application> application;
  private final FactEncoder encoder;
  private final FaultCounter faults;
  private final DeliveryCounters deliveries = new DeliveryCounters();
  private final SendBackoff backoff = new SendBackoff(deliveries);
  private final SinkOpener sinks;
  private final Thread thread;
  private final long healthIntervalMs;
  private Health health = () -> null;
  private long nextHealthMs = SteadyClock.ms();
  private volatile boolean stopping;
  private volatile long drainUntilMs = Long.MAX_VALUE;
  private volatile long closeUntilMs = Long.MAX_VALUE;

  /**
   * {@code application} may give null until it is known; nothing is sent before. {@code
   * backlogBytes} bounds the memory of what waits for the broker.
   */
  public Sender(
      FactQueue queue,
      long backlogBytes,
      RecordSink.Factory sinks,
      Supplier<Application> application,
      String collector,
      long healthIntervalMs,
      FaultCounter faults) {
    this.queue = queue;
    this.backlog = new Backlog(backlogBytes);
    this.sinks = new SinkOpener(sinks, deliveries, faults);
    this.application = application;
    this.encoder = new FactEncoder(collector);
    this.healthIntervalMs = healthIntervalMs;
    this.faults = faults;
    this.thread = DaemonThreads.of("sender", faults, this::run);
  }

  /** Starts the thread; the client is made later. */
  public void start(Health source) {
    health = source;
    thread.start();
  }

  /** What became of what was sent. */
  public DeliveryCounters deliveries() {
    return deliveries;
  }

  /** Facts that were cut to fit into a record. */
  public long cutFacts() {
    return encoder.cutFacts();
  }

  /** closed, open or half-open: whether records go to the broker. */
  public String backoffState() {
    return backoff.state();
  }

  /** How many records wait, encoded or not. */
  public long waiting() {
    return queue.waiting() + backlog.waiting();
  }

  /** The memory that they take, roughly. */
  public long waitingBytes() {
    return queue.waitingBytes() + backlog.bytes();
  }

  /**
   * Sends what waits and a last health fact, and closes the client, all within {@code budgetMs}.
   *
   * @return how many records were abandoned
   */
  public long finish(long budgetMs) {
    long now = SteadyClock.ms();
    drainUntilMs = now + budgetMs / 2;
    closeUntilMs = now + budgetMs - 50;
    stopping = true;
    try {
      synchronized (queue) {
        queue.notifyAll();
      }
      thread.join(budgetMs);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    return waiting() + deliveries.open() + deliveries.failed();
  }

  private void run() {
    while (faults.on() && !(stopping && drained())) {
      try {
        once();
      } catch (Throwable fault) {
        faults.caught(fault);
        rest();
      }
    }
    end();
  }

  private void once() throws InterruptedException, IOException {
    if (application.get() == null) {
      Thread.sleep(WAIT_MS);
      return;
    }
    offerHealthWhenDue();
    forsakeDead(); // what it held is counted though nothing more should come
    boolean idle = backlog.waiting() == 0 || !backoff.closed();
    deliver(queue.take(BATCH, idle ? WAIT_MS : 1));
    sendWaiting();
  }

  /**
   * What cannot be made is counted one by one as dropped, and as one fault for all of them: a full
   * heap fails a batch in a moment and has room again after the next collection.
   */
  private void deliver(List<QueuedRecord> batch) {
    Throwable last = null;
    for (QueuedRecord item : batch) {
      Throwable unmade = deliver(item);
      last = unmade == null ? last : unmade;
    }
    if (last != null) {
      faults.caught(last);
      rest();
    }
  }

  /** Whatever is wrong, a full heap for one, may last: trying on and on would make it worse. */
  private static void rest() {
    try {
      LockSupport.parkNanos(WAIT_MS * 1_000_000);
    } catch (Throwable ignored) { // not even room to load what waits
    }
  }

  private boolean drained() {
    return waiting() == 0 || application.get() == null || givesUp();
  }

  /** At the end a broker that is away is not waited for. */
  private boolean givesUp() {
    return stopping && (backoff.state().equals("open") || SteadyClock.ms() >= drainUntilMs);
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
   * Sends one thing, or puts it behind those that wait; gives why it could not be made, or null.
   */
  private Throwable deliver(QueuedRecord item) {
    boolean held = false;
    Throwable why = null;
    try {
      byte[] value = item.ready;
      if (value == null) {
        value = encoder.encode(item.fact, application.get(), item.priority.lane, item.seq);
      }
      held = backlog.waiting() == 0 && tryOnce(item.topic, value) || keep(item, value);
    } catch (Throwable unmade) {
      why = unmade;
    }
    if (!held) { // its number stays a hole
      queue.countDropped(item.priority.lane);
    }
    return why;
  }

  /** Puts a record behind those that wait; an event id cannot be deflated, but made again. */
  private boolean keep(QueuedRecord item, byte[] value) {
    boolean bare = item.fact != null;
    byte[] kept = bare ? FactEncoder.withoutId(value) : value;
    return backlog.add(item.topic, item.priority, bare, kept);
  }

  private void sendWaiting() throws IOException {
    for (int i = 0; i < MAX_IN_A_ROW && backlog.waiting() > 0; i++) {
      if (!backoff.allows(SteadyClock.ms())) {
        return;
      }
      Backlog.Waiting first = backlog.first();
      if (!tryOnce(first.topic, first.bare ? encoder.withId(first.value) : first.value)) {
        return;
      }
      backlog.removeFirst();
    }
  }

  private boolean tryOnce(String topic, byte[] value) {
    if (!backoff.allows(SteadyClock.ms())) {
      return false;
    }
    forsakeDead();
    RecordSink sink = sinks.get(SteadyClock.ms());
    if (sink == null && !sinks.failed()) { // it is being made: that takes seconds on a busy machine
      return false;
    }
    boolean taken = false;
    try {
      taken = sink != null && sink.send(topic, application.get().id, value);
    } catch (OutOfMemoryError full) { // the record waits until there is room; the client lives on
      faults.caught(full);
    } catch (Throwable broken) { // a client in a fatal state is of no use any more
      forsake(sinks.drop(), "the Kafka client is broken", broken);
    }
    if (taken) {
      backoff.took();
    } else {
      backoff.refused(SteadyClock.ms());
    }
    return taken;
  }

  private void forsakeDead() {
    forsake(sinks.dropDead(SteadyClock.ms()), "the Kafka client's own thread has ended", null);
  }

  /** Gives up a client, and what it held; the next record opens another. */
  private void forsake(RecordSink sink, String why, Throwable fault) {
    if (sink != null) {
      PluginLog.trouble(why + "; another will be made", fault);
      closeSink(sink, 100);
      deliveries.lostOpen();
    }
  }

  private void end() {
    try {
      if (deliveries.acknowledged() > 0 && !givesUp()) {
        settle();
        offerHealth();
        deliver(queue.take(BATCH, 0));
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
    closeSink(sinks.close(), Math.max(50, Math.min(1_000, closeUntilMs - SteadyClock.ms())));
  }

  /** Waits a little for open records, so that the last health fact can count them. */
  private void settle() throws InterruptedException {
    long until = Math.min(drainUntilMs, SteadyClock.ms() + 300);
    while (deliveries.open() > 0 && SteadyClock.ms() < until) {
      Thread.sleep(5);
    }
  }

  private static void closeSink(RecordSink sink, long budgetMs) {
    try {
      if (sink != null) {
        sink.close(budgetMs);
      }
    } catch (Throwable fault) {
      PluginLog.trouble("closing the Kafka client", fault);
    }
  }
}
