package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.Faults;
import io.sparkfuse.spark.safety.PluginLog;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * An executor's way to the driver: batches of ready facts by plugin RPC, each answered.
 *
 * <p>The answer is {@link Application#toLine}, by which an executor also learns whose it is. A call
 * may hang for as long as Spark's RPC timeout when the driver hangs, so it has a thread of its own.
 */
public final class DriverLink {
  /** The driver's side of the RPC. */
  public interface Rpc {
    Object ask(Object message) throws Exception;
  }

  private static final int MOST_BATCHES = 32;
  private static final long HELLO_MS = 5_000;

  /** Asks for the application and carries nothing. */
  private static final byte[][] HELLO = new byte[0][];

  private final Rpc rpc;
  private final Faults faults;
  private final BlockingQueue<byte[][]> waiting = new ArrayBlockingQueue<>(MOST_BATCHES);
  private volatile Application application;
  private volatile long answeredMs = System.currentTimeMillis();
  private volatile boolean stopped;

  public DriverLink(Rpc rpc, Faults faults) {
    this.rpc = rpc;
    this.faults = faults;
  }

  /** Starts to ask the driver. */
  public void start() {
    DaemonThreads.of("driver-link", faults, this::run).start();
  }

  /** Takes a batch if there is room; returns at once. */
  public boolean offer(byte[][] batch) {
    return waiting.offer(batch);
  }

  /** Takes back what was not asked yet. */
  public List<byte[][]> takeBack() {
    List<byte[][]> batches = new ArrayList<>();
    waiting.drainTo(batches);
    return batches;
  }

  /** The application as the driver told it, or null. */
  public Application application() {
    return application;
  }

  /** How long the driver has not answered. */
  public long silentMs(long nowMs) {
    return nowMs - answeredMs;
  }

  public void stop() {
    stopped = true;
  }

  private void run() {
    while (!stopped && faults.on()) {
      try {
        byte[][] batch = waiting.poll(application == null ? 100 : HELLO_MS, TimeUnit.MILLISECONDS);
        ask(batch == null ? HELLO : batch);
      } catch (Throwable fault) {
        faults.caught(fault);
      }
    }
  }

  private void ask(byte[][] batch) {
    try {
      Application told = Application.ofLine(rpc.ask(batch));
      if (told != null) {
        application = told;
      }
      answeredMs = System.currentTimeMillis();
    } catch (Throwable unanswered) { // silentMs tells it to the outlet
      if (!stopped) {
        PluginLog.trouble("the driver does not answer", unanswered);
      }
    }
  }
}
