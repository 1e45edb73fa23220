package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.PluginLog;

/**
 * Opens the sink on a thread of its own. The constructor of a client resolves names, which can
 * block for half a minute, and the sender must continue to empty the queue.
 */
final class SinkOpener {
  private static final long RETRY_MS = 1_000;

  /**
   * Longest time between two tries. Retries become less frequent, because a client logs a stack
   * trace each time its own thread dies.
   */
  private static final long MAX_RETRY_MS = 60_000;

  /**
   * If a sink lives longer than this, its start was successful, so the next retry follows after the
   * shortest time.
   */
  private static final long STABLE_MS = 60_000;

  private final RecordSink.Factory sinks;
  private final DeliveryCounters deliveries;
  private final FaultCounter faults;
  private RecordSink sink;
  private boolean opening;
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
   * Returns the sink, or null while it is being opened. Opens a sink if there is none; {@code
   * nowMs} is a monotonic time.
   */
  synchronized RecordSink get(long nowMs) {
    if (sink == null && !opening && !closed && (!failed || nowMs - triedMs >= retryMs)) {
      triedMs = nowMs;
      DaemonThreads.of("connect", faults, this::open).start();
      opening = true; // set last: if the thread cannot start, nothing would reset it
    }
    return sink;
  }

  /** Returns for how long a sink has been being opened, in ms; 0 if none is. */
  synchronized long openingMs(long nowMs) {
    return opening ? nowMs - triedMs : 0;
  }

  /** Returns whether the last try failed: it opened no sink, or the sink that it opened died. */
  synchronized boolean failed() {
    return failed;
  }

  /** Removes the sink and returns it, or null; the next {@link #get} opens another. */
  synchronized RecordSink drop() {
    RecordSink old = sink;
    sink = null;
    return old;
  }

  /**
   * Removes a dead sink and returns it, or null.
   *
   * <p>A dead sink counts as a failed try, so that the backoff sees repeated failures, and so that
   * retries become less frequent.
   */
  synchronized RecordSink dropDead(long nowMs) {
    if (sink == null || sink.alive()) {
      return null;
    }
    failed = true;
    boolean unstable = nowMs - triedMs < STABLE_MS;
    retryMs = unstable ? Math.min(2 * retryMs, MAX_RETRY_MS) : RETRY_MS;
    return drop();
  }

  /** Removes the sink like {@link #drop}, and never opens another. */
  synchronized RecordSink close() {
    closed = true;
    return drop();
  }

  private void open() {
    RecordSink opened = null;
    boolean wanted = true;
    try {
      opened = sinks.open(deliveries);
    } catch (Throwable unusable) {
      // the backoff learns that no record is accepted; a later call of get() tries again
      PluginLog.warnOncePerMinute("the Kafka client cannot be created", unusable);
    } finally {
      wanted = store(opened);
    }
    if (!wanted) {
      opened.close(0);
    }
  }

  /** Stores the opened sink and returns true, or returns false if it is no longer needed. */
  private synchronized boolean store(RecordSink opened) {
    opening = false;
    failed = opened == null;
    if (closed) {
      return opened == null;
    }
    sink = opened;
    return true;
  }
}
