package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.Faults;
import io.sparkfuse.spark.safety.PluginLog;

/**
 * Opens the sink on a thread of its own, because a client's constructor looks up names and may hang
 * for half a minute when the name service does, and the sender must go on emptying the queue.
 */
final class SinkOpening {
  private final RecordSink.Factory sinks;
  private final Deliveries deliveries;
  private final Faults faults;
  private RecordSink sink;
  private boolean underWay;
  private boolean closed;

  SinkOpening(RecordSink.Factory sinks, Deliveries deliveries, Faults faults) {
    this.sinks = sinks;
    this.deliveries = deliveries;
    this.faults = faults;
  }

  /** The sink, or null while it is being opened; the first call, and one after a drop, begins. */
  synchronized RecordSink get() {
    if (sink == null && !underWay && !closed) {
      underWay = true;
      DaemonThreads.of("connect", faults, this::open).start();
    }
    return sink;
  }

  /** Forgets the sink and gives it, or null; the next {@link #get} opens another. */
  synchronized RecordSink drop() {
    RecordSink old = sink;
    sink = null;
    return old;
  }

  /** As {@link #drop}, and none is opened any more. */
  synchronized RecordSink close() {
    closed = true;
    return drop();
  }

  private void open() {
    RecordSink made = null;
    try {
      made = sinks.open(deliveries);
    } catch (Throwable unusable) { // the breaker sees that nothing is taken, and lets it try again
      PluginLog.trouble("the Kafka client cannot be made", unusable);
    }
    if (!opened(made)) {
      made.close(0);
    }
  }

  /** Whether the sink is still wanted. */
  private synchronized boolean opened(RecordSink made) {
    underWay = false;
    if (closed) {
      return made == null;
    }
    sink = made;
    return true;
  }
}
