package io.sparkfuse.spark.transport;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.FactEncoder;
import io.sparkfuse.spark.facts.FactOutlet;
import io.sparkfuse.spark.safety.Faults;
import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.settings.PluginSettings.ExecutorTransport;
import java.util.List;

/**
 * Brings an executor's facts out: through the driver, or by a producer of its own when the driver
 * has been silent for too long or the owner wants it so.
 *
 * <p>Facts of executors are gauges, so one that goes both ways does no harm. Used by the sampler's
 * thread only.
 */
public final class ExecutorOutlet implements FactOutlet {
  /** Of the client's memory, when it comes to that. */
  public static final int CLIENT_BYTES = 4 << 20;

  private static final long NEVER_MS = Long.MAX_VALUE / 2;
  private static final int QUEUE_FACTS = 2_000;
  private static final long QUEUE_BYTES = 2L << 20;
  private static final long BACKLOG_BYTES = 2L << 20;

  private final PluginSettings settings;
  private final String collector;
  private final DriverLink link;
  private final RecordSink.Factory sinks;
  private final Faults faults;
  private final FactEncoder encoder;
  private final long patienceMs;
  private FactQueue queue;
  private Sender sender;
  private boolean direct;
  private long nextSeq;

  /** {@code sinks} opens the client for sending directly, if it comes to that. */
  public ExecutorOutlet(
      PluginSettings settings,
      String collector,
      DriverLink link,
      RecordSink.Factory sinks,
      Faults faults) {
    this.settings = settings;
    this.collector = collector;
    this.link = link;
    this.sinks = sinks;
    this.faults = faults;
    this.encoder = new FactEncoder(collector);
    // Executors of one application must not all open a client in the same second.
    this.patienceMs = (long) (settings.executorPatienceMs * (1 + Math.random() / 2));
  }

  @Override
  public boolean ready() {
    return link.wanted() && link.application() != null;
  }

  @Override
  public void send(List<Fact.Builder> facts) {
    Application application = link.application();
    byte[][] batch = new byte[facts.size()][];
    for (int i = 0; i < batch.length; i++) {
      batch[i] = encoder.encode(facts.get(i), application, Lane.BULK, nextSeq++);
    }
    choose();
    if (direct) {
      queue(batch);
    } else {
      link.offer(batch); // without room it leaves a hole in seq
    }
  }

  /** Gives up what waits within {@code budgetMs}. */
  public void close(long budgetMs) {
    link.stop();
    if (sender != null) {
      sender.finish(budgetMs);
    }
  }

  private void choose() {
    boolean now =
        settings.executorTransport == ExecutorTransport.DIRECT || link.silentMs() > patienceMs;
    if (now == direct) {
      return;
    }
    direct = now;
    PluginLog.info("Sparkfuse: " + collector + " sends " + (direct ? "directly" : "by the driver"));
    if (direct) {
      openQueue();
      link.takeBack().forEach(this::queue);
    }
  }

  private void openQueue() {
    if (queue == null) {
      queue = new FactQueue(1, 1, QUEUE_FACTS, QUEUE_BYTES);
      sender =
          new Sender(queue, BACKLOG_BYTES, sinks, link::application, collector, NEVER_MS, faults);
      sender.start(() -> null);
    }
  }

  private void queue(byte[][] batch) {
    for (byte[] fact : batch) {
      queue.offer(Outgoing.own(fact));
    }
  }
}
