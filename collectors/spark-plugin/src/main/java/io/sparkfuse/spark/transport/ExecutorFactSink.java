package io.sparkfuse.spark.transport;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.FactEncoder;
import io.sparkfuse.spark.facts.FactSink;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.safety.FaultCounter;
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
public final class ExecutorFactSink implements FactSink {
  /** Of the client's memory, when it comes to that. */
  public static final int CLIENT_BYTES = 4 << 20;

  private static final long NEVER_MS = Long.MAX_VALUE / 2;
  private static final int QUEUE_FACTS = 2_000;
  private static final long QUEUE_BYTES = 2L << 20;
  private static final long BACKLOG_BYTES = 2L << 20;

  private final PluginSettings settings;
  private final String collector;
  private final DriverRpcClient driverRpc;
  private final RecordSink.Factory sinks;
  private final FaultCounter faults;
  private final FactEncoder encoder;
  private final long patienceMs;
  private FactQueue queue;
  private Sender sender;
  private boolean direct;
  private long nextSeq;

  /** {@code sinks} opens the client for sending directly, if it comes to that. */
  public ExecutorFactSink(
      PluginSettings settings,
      String collector,
      DriverRpcClient driverRpc,
      RecordSink.Factory sinks,
      FaultCounter faults) {
    this.settings = settings;
    this.collector = collector;
    this.driverRpc = driverRpc;
    this.sinks = sinks;
    this.faults = faults;
    this.encoder = new FactEncoder(collector);
    // Executors of one application must not all open a client in the same second.
    this.patienceMs = (long) (settings.executorPatienceMs * (1 + Math.random() / 2));
  }

  @Override
  public boolean ready() {
    return driverRpc.wanted() && driverRpc.application() != null;
  }

  @Override
  public void send(List<Fact.Builder> facts) {
    Application application = driverRpc.application();
    byte[][] batch = new byte[facts.size()][];
    for (int i = 0; i < batch.length; i++) {
      batch[i] = encoder.encode(facts.get(i), application, Lane.BULK, nextSeq++);
    }
    choose();
    if (direct) {
      queue(batch);
    } else {
      driverRpc.offer(batch); // without room it leaves a hole in seq
    }
  }

  /** Gives up what waits within {@code budgetMs}. */
  public void close(long budgetMs) {
    driverRpc.stop();
    if (sender != null) {
      sender.finish(budgetMs);
    }
  }

  private void choose() {
    boolean now =
        settings.executorTransport == ExecutorTransport.DIRECT || driverRpc.silentMs() > patienceMs;
    if (now == direct) {
      return;
    }
    direct = now;
    PluginLog.info("Sparkfuse: " + collector + " sends " + (direct ? "directly" : "by the driver"));
    if (direct) {
      openQueue();
      driverRpc.takeBack().forEach(this::queue);
    }
  }

  private void openQueue() {
    if (queue == null) {
      queue = new FactQueue(1, 1, QUEUE_FACTS, QUEUE_BYTES);
      sender =
          new Sender(
              queue, BACKLOG_BYTES, sinks, driverRpc::application, collector, NEVER_MS, faults);
      sender.start(() -> null);
    }
  }

  private void queue(byte[][] batch) {
    for (byte[] fact : batch) {
      queue.offer(QueuedRecord.own(fact));
    }
  }
}
