package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.PluginLog;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * An executor's way to the driver: batches of ready facts by plugin RPC, each answered.
 *
 * <p>The answer is a {@link DriverReply}, by which an executor also learns whose it is. A call may
 * hang for as long as Spark's RPC timeout when the driver hangs, so it has a thread of its own.
 */
public final class DriverRpcClient {
  /** The driver's side of the RPC. */
  public interface Rpc {
    Object ask(Object message) throws Exception;
  }

  private static final int MAX_BATCHES = 32;
  private static final long MAX_BYTES = 4L << 20;
  private static final long HELLO_MS = 5_000;

  /** Asks for the application and carries nothing. */
  private static final byte[][] HELLO = new byte[0][];

  private final Rpc rpc;
  private final FaultCounter faults;
  private final BlockingQueue<byte[][]> waiting = new ArrayBlockingQueue<>(MAX_BATCHES);
  private final AtomicLong waitingBytes = new AtomicLong();
  private volatile Application application;
  private volatile boolean wanted = true;
  private volatile long answeredNs = System.nanoTime();
  private volatile boolean stopped;

  public DriverRpcClient(Rpc rpc, FaultCounter faults) {
    this.rpc = rpc;
    this.faults = faults;
  }

  /** Starts to ask the driver. */
  public void start() {
    DaemonThreads.of("driver-rpc", faults, this::run).start();
  }

  /** Takes a batch if there is room; returns at once. */
  public boolean offer(byte[][] batch) {
    if (waitingBytes.addAndGet(bytes(batch)) <= MAX_BYTES && waiting.offer(batch)) {
      return true;
    }
    waitingBytes.addAndGet(-bytes(batch));
    return false;
  }

  /** Takes back what was not asked yet. */
  public List<byte[][]> takeBack() {
    List<byte[][]> batches = new ArrayList<>();
    waiting.drainTo(batches);
    batches.forEach(batch -> waitingBytes.addAndGet(-bytes(batch)));
    return batches;
  }

  /** The application as the driver told it, or null. */
  public Application application() {
    return application;
  }

  /** Whether the driver wants facts, as far as is known. */
  public boolean wanted() {
    return wanted;
  }

  /** How long the driver has not answered, by a clock that does not jump. */
  public long silentMs() {
    return (System.nanoTime() - answeredNs) / 1_000_000;
  }

  public void stop() {
    stopped = true;
  }

  private void run() {
    while (!stopped && faults.on()) {
      try {
        byte[][] batch = waiting.poll(application == null ? 100 : HELLO_MS, TimeUnit.MILLISECONDS);
        if (batch != null) {
          waitingBytes.addAndGet(-bytes(batch));
        }
        ask(batch == null ? HELLO : batch);
      } catch (Throwable fault) {
        faults.caught(fault);
      }
    }
  }

  private void ask(byte[][] batch) {
    try {
      DriverReply answer = DriverReply.of(rpc.ask(batch));
      if (answer.application != null) {
        application = answer.application;
      }
      wanted = answer.wanted;
      answeredNs = System.nanoTime();
    } catch (Throwable unanswered) { // silentMs tells it to the outlet
      if (!stopped) {
        PluginLog.trouble("the driver does not answer", unanswered);
      }
    }
  }

  private static long bytes(byte[][] batch) {
    long bytes = 0;
    for (byte[] fact : batch) {
      bytes += fact.length + QueuedRecord.READY_BYTES;
    }
    return bytes;
  }
}
