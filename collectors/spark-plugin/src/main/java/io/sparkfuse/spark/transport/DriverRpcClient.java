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
 * Sends batches of encoded facts from an executor to the driver by plugin RPC.
 *
 * <p>Each call returns a {@link DriverReply}, from which the executor learns the application. If
 * the driver hangs, a call blocks for Spark's RPC timeout, so calls have a thread of their own.
 */
public final class DriverRpcClient {
  /** The RPC endpoint of the driver. */
  public interface Rpc {
    Object ask(Object message) throws Exception;
  }

  private static final int MAX_BATCHES = 32;
  private static final long MAX_BYTES = 4L << 20;
  private static final long ASK_MS = 5_000;

  /** An empty batch, which asks for the application. */
  private static final byte[][] EMPTY_BATCH = new byte[0][];

  private final Rpc rpc;
  private final FaultCounter faults;
  private final Thread thread;
  private final BlockingQueue<byte[][]> waiting = new ArrayBlockingQueue<>(MAX_BATCHES);
  private final AtomicLong waitingBytes = new AtomicLong();
  private volatile Application application;
  private volatile boolean wanted = true;
  private volatile long answeredNs = System.nanoTime();
  private volatile boolean stopped;

  public DriverRpcClient(Rpc rpc, FaultCounter faults) {
    this.rpc = rpc;
    this.faults = faults;
    this.thread = DaemonThreads.of("driver-rpc", faults, this::run);
  }

  /** Starts the thread. */
  public void start() {
    thread.start();
  }

  /** Queues a batch and returns true, or returns false if the queue is full. Does not block. */
  public boolean offer(byte[][] batch) {
    if (waitingBytes.addAndGet(bytes(batch)) <= MAX_BYTES && waiting.offer(batch)) {
      return true;
    }
    waitingBytes.addAndGet(-bytes(batch));
    return false;
  }

  /** Removes and returns the batches that were not sent. */
  public List<byte[][]> takeUnsent() {
    List<byte[][]> batches = new ArrayList<>();
    waiting.drainTo(batches);
    batches.forEach(batch -> waitingBytes.addAndGet(-bytes(batch)));
    return batches;
  }

  /** Returns the application, or null before the driver has replied with it. */
  public Application application() {
    return application;
  }

  /** Returns whether the collector is on, according to the driver's last reply. */
  public boolean wanted() {
    return wanted;
  }

  /** Returns for how long the driver has not replied, in ms. */
  public long silentMs() {
    return (System.nanoTime() - answeredNs) / 1_000_000;
  }

  /**
   * Ends the thread. It does not wait for the reply of a call that was made already: a driver that
   * stops may never send it.
   */
  public void stop() {
    stopped = true;
    thread.interrupt();
  }

  private void run() {
    while (!stopped && faults.on()) {
      try {
        byte[][] batch = waiting.poll(application == null ? 100 : ASK_MS, TimeUnit.MILLISECONDS);
        if (batch != null) {
          waitingBytes.addAndGet(-bytes(batch));
        }
        ask(batch == null ? EMPTY_BATCH : batch);
      } catch (Throwable fault) {
        faults.caught(fault);
      }
    }
  }

  private void ask(byte[][] batch) {
    try {
      DriverReply reply = DriverReply.of(rpc.ask(batch));
      if (reply.application != null) {
        application = reply.application;
      }
      wanted = reply.wanted;
      answeredNs = System.nanoTime();
    } catch (Throwable unanswered) { // ExecutorFactSink learns this from silentMs
      if (!stopped) {
        PluginLog.warnOncePerMinute("the driver does not reply", unanswered);
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
