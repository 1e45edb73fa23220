package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.FactEncoder;
import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.Faults;
import io.sparkfuse.spark.safety.PluginLog;
import java.util.List;
import java.util.function.Supplier;

/**
 * The one thread that makes records and talks to the broker.
 *
 * <p>It keeps a record that the client did not take and tries it again, so that a broker that is
 * away costs room in the queue first and facts only when that is full. {@link #finish} returns
 * within its budget, whatever the broker does.
 */
public final class Sender {
  private static final int BATCH = 256;
  private static final long WAIT_MS = 200;

  /** Tells how the collector stands, for the fact that is sent every few seconds. */
  public interface Health {
    Outgoing now();
  }

  private final FactQueue queue;
  private final RecordSink.Factory sinks;
  private final Supplier<Application> application;
  private final FactEncoder encoder;
  private final Faults faults;
  private final Deliveries deliveries = new Deliveries();
  private final SendBreaker breaker = new SendBreaker();
  private final Thread thread;
  private final long healthIntervalMs;
  private Health health = () -> null;
  private long nextHealthMs;
  private RecordSink sink;
  private volatile boolean stopping;
  private volatile long drainUntilMs = Long.MAX_VALUE;
  private volatile long closeUntilMs = Long.MAX_VALUE;
  private volatile int held;

  /** {@code application} may give null until it is known; nothing is sent before. */
  public Sender(
      FactQueue queue,
      RecordSink.Factory sinks,
      Supplier<Application> application,
      String collector,
      long healthIntervalMs,
      Faults faults) {
    this.queue = queue;
    this.sinks = sinks;
    this.application = application;
    this.encoder = new FactEncoder(collector);
    this.healthIntervalMs = healthIntervalMs;
    this.faults = faults;
    this.thread = DaemonThreads.of("sender", faults, this::run);
  }

  /** Starts the thread; the client is made by it, later. */
  public void start(Health source) {
    health = source;
    thread.start();
  }

  /** What became of what was sent. */
  public Deliveries deliveries() {
    return deliveries;
  }

  /** closed, open or half-open. */
  public String breakerState() {
    return breaker.state();
  }

  /**
   * Sends what waits and a last health fact, and closes the client, all within {@code budgetMs}.
   *
   * @return how many records were abandoned
   */
  public long finish(long budgetMs) {
    long now = System.currentTimeMillis();
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
    return queue.waiting() + held + deliveries.open() + deliveries.failed();
  }

  private void run() {
    while (faults.on() && !(stopping && drained())) {
      try {
        if (application.get() == null) {
          Thread.sleep(50);
          continue;
        }
        offerHealth(System.currentTimeMillis());
        deliver(queue.take(BATCH, stopping ? 0 : WAIT_MS));
      } catch (Throwable fault) {
        faults.caught(fault);
      }
    }
    end();
  }

  private boolean drained() {
    return queue.waiting() == 0 || application.get() == null || givesUp();
  }

  /** At the end a broker that is away is not waited for. */
  private boolean givesUp() {
    return stopping
        && (breaker.state().equals("open") || System.currentTimeMillis() >= drainUntilMs);
  }

  private void offerHealth(long nowMs) {
    if (nowMs >= nextHealthMs) {
      nextHealthMs = nowMs + healthIntervalMs;
      offerHealth();
    }
  }

  private void offerHealth() {
    Outgoing fact = health.now();
    if (fact != null) {
      queue.offer(fact);
    }
  }

  private void deliver(List<Outgoing> batch) throws InterruptedException {
    held = batch.size();
    for (Outgoing item : batch) {
      byte[] value = item.ready;
      if (value == null) {
        value = encoder.encode(item.fact, application.get(), item.lane, item.seq);
      }
      while (!tryOnce(item.topic, value)) {
        if (givesUp()) {
          return;
        }
      }
      held--;
    }
  }

  private boolean tryOnce(String topic, byte[] value) throws InterruptedException {
    if (!breaker.allows(System.currentTimeMillis())) {
      Thread.sleep(20);
      return false;
    }
    boolean taken = false;
    try {
      if (sink == null) {
        sink = sinks.open(deliveries);
      }
      taken = sink.send(topic, application.get().id, value);
    } catch (Throwable broken) { // a client in a fatal state is of no use any more
      PluginLog.trouble("the Kafka client is broken and will be made anew", broken);
      dropSink(100);
    }
    if (taken) {
      breaker.succeeded();
    } else {
      breaker.failed(System.currentTimeMillis());
    }
    return taken;
  }

  private void end() {
    try {
      if (sink != null && deliveries.acknowledged() > 0 && !breaker.state().equals("open")) {
        settle();
        offerHealth();
        deliver(queue.take(BATCH, 0));
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
    dropSink(Math.max(50, Math.min(1_000, closeUntilMs - System.currentTimeMillis())));
  }

  /** Waits a little for open records, so that the last health fact can count them. */
  private void settle() throws InterruptedException {
    long until = Math.min(drainUntilMs, System.currentTimeMillis() + 300);
    while (deliveries.open() > 0 && System.currentTimeMillis() < until) {
      Thread.sleep(5);
    }
  }

  private void dropSink(long budgetMs) {
    RecordSink old = sink;
    sink = null;
    if (old == null) {
      return;
    }
    try {
      old.close(budgetMs);
    } catch (Throwable fault) {
      PluginLog.trouble("closing the Kafka client", fault);
    }
  }
}
