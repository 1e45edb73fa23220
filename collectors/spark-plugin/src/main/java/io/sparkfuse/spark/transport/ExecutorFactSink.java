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
 * Sends an executor's facts through the driver, or with a Kafka producer of its own if the driver
 * does not reply or if the settings request it.
 *
 * <p>Facts of executors are samples, so a fact that is sent both ways does no harm. Used by the
 * sampler's thread only.
 */
public final class ExecutorFactSink implements FactSink {
  /** Memory of the Kafka client in bytes. */
  public static final int CLIENT_BYTES = 4 << 20;

  private static final long NEVER_MS = Long.MAX_VALUE / 2;
  private static final int QUEUE_FACTS = 2_000;
  private static final long QUEUE_BYTES = 2L << 20;
  private static final long BACKLOG_BYTES = 2L << 20;

  private final PluginSettings settings;
  private final String collector;
  private final DriverRpcClient driverRpc;
  private final List<RecordSink.Factory> sinks;
  private final FaultCounter faults;
  private final FactEncoder encoder;
  private final long patienceMs;
  private FactQueue queue;
  private Sender sender;
  private boolean direct;
  private long nextSeq;

  /** Creates a sink; {@code sinks} open the Kafka clients if the executor sends directly. */
  public ExecutorFactSink(
      PluginSettings settings,
      String collector,
      DriverRpcClient driverRpc,
      List<RecordSink.Factory> sinks,
      FaultCounter faults) {
    this.settings = settings;
    this.collector = collector;
    this.driverRpc = driverRpc;
    this.sinks = sinks;
    this.faults = faults;
    this.encoder = new FactEncoder(collector);
    // This time is random, because executors of one application must not all open a Kafka client in
    // the same second.
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
    chooseTransport();
    if (direct) {
      queue(batch);
    } else {
      // If the queue is full, the gap in the sequence numbers shows the loss.
      driverRpc.offer(batch);
    }
  }

  /** Stops within {@code budgetMs}; facts that were not sent are lost. */
  public void close(long budgetMs) {
    driverRpc.stop();
    if (sender != null) {
      sender.finish(budgetMs);
    }
  }

  private void chooseTransport() {
    boolean now =
        settings.executorTransport == ExecutorTransport.DIRECT || driverRpc.silentMs() > patienceMs;
    if (now == direct) {
      return;
    }
    direct = now;
    PluginLog.info(
        "Sparkfuse: " + collector + " sends " + (direct ? "directly" : "through the driver"));
    if (direct) {
      openQueue();
      driverRpc.takeUnsent().forEach(this::queue);
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
