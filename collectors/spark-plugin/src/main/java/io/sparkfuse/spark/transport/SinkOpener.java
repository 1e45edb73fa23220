package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.PluginLog;

/**
 * Opens the sink on a thread of its own, because a client's constructor looks up names and may hang
 * for half a minute when the name service does, and the sender must go on emptying the queue.
 */
final class SinkOpener {
  private static final long RETRY_MS = 1_000;

  /** The client writes a stack into Spark's log for each thread of its own that dies. */
  private static final long MAX_RETRY_MS = 60_000;

  /** A sink that lived so long was not dead at birth. */
  private static final long GROWN_UP_MS = 60_000;

  private final RecordSink.Factory sinks;
  private final DeliveryCounters deliveries;
  private final FaultCounter faults;
  private RecordSink sink;
  private boolean underWay;
  private boolean failed;
  private boolean closed;
  private long retryMs = RETRY_MS;
  private long triedMs;

  SinkOpener(RecordSink.Factory sinks, DeliveryCounters deliveries, FaultCounter faults) {
    this.sinks = sinks;
    this.deliveries = deliveries;
    this.faults = faults;
  }

  /**
   * The sink, or null while it is being opened; the first call begins, and one after a drop. Times
   * are of a clock that never goes back.
   */
  synchronized RecordSink get(long nowMs) {
    if (sink == null && !underWay && !closed && (!failed || nowMs - triedMs >= retryMs)) {
      triedMs = nowMs;
      DaemonThreads.of("connect", faults, this::open).start();
      underWay = true; // not before: without room for a thread nobody would take it back
    }
    return sink;
  }

  /** Whether the last try ended without a sink, or with one that died. */
  synchronized boolean failed() {
    return failed;
  }

  /** Forgets the sink and gives it, or null; the next {@link #get} opens another. */
  synchronized RecordSink drop() {
    RecordSink old = sink;
    sink = null;
    return old;
  }

  /**
   * Forgets a sink that can bring nothing out any more and gives it, or null.
   *
   * <p>It counts as a try that failed, so the backoff sees where each new one dies as well; those
   * are made less and less often.
   */
  synchronized RecordSink dropDead(long nowMs) {
    if (sink == null || sink.alive()) {
      return null;
    }
    failed = true;
    boolean young = nowMs - triedMs < GROWN_UP_MS;
    retryMs = young ? Math.min(2 * retryMs, MAX_RETRY_MS) : RETRY_MS;
    return drop();
  }

  /** As {@link #drop}, and none is opened any more. */
  synchronized RecordSink close() {
    closed = true;
    return drop();
  }

  private void open() {
    RecordSink made = null;
    boolean wanted = true;
    try {
      made = sinks.open(deliveries);
    } catch (Throwable unusable) { // the backoff sees that nothing is taken, and lets it try again
      PluginLog.trouble("the Kafka client cannot be made", unusable);
    } finally {
      wanted = opened(made);
    }
    if (!wanted) {
      made.close(0);
    }
  }

  /** Whether the sink is still wanted. */
  private synchronized boolean opened(RecordSink made) {
    underWay = false;
    failed = made == null;
    if (closed) {
      return made == null;
    }
    sink = made;
    return true;
  }
}
