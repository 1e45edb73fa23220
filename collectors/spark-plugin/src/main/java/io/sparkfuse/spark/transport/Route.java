package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.PluginLog;
import java.util.List;
import java.util.function.Consumer;

/**
 * The way to one Kafka cluster: its client, the results of its records, and its backoff. Used by
 * the sender's thread only; any thread may read the counters.
 */
final class Route {
  private final RecordSink.Factory factory;
  private final FaultCounter faults;
  private final Consumer<List<SentRecord>> returned;
  private final DeliveryCounters deliveries = new DeliveryCounters();
  private final SendBackoff backoff = new SendBackoff(deliveries);
  private final SinkOpener sinks;

  /**
   * Creates a route.
   *
   * @param returned gets the records that are taken back from a client; null if the route is the
   *     only one, so that its records stay in the client
   */
  Route(RecordSink.Factory factory, FaultCounter faults, Consumer<List<SentRecord>> returned) {
    this.factory = factory;
    this.faults = faults;
    this.returned = returned;
    this.sinks = new SinkOpener(factory, deliveries, faults);
  }

  DeliveryCounters deliveries() {
    return deliveries;
  }

  SendBackoff backoff() {
    return backoff;
  }

  /** Returns the addresses of the brokers, for the log. */
  String brokers() {
    return factory.brokers();
  }

  /** Returns whether a record may be sent now. */
  boolean allows(long nowMs) {
    return backoff.allows(nowMs);
  }

  /** Sends a record and returns true, or returns false if the client did not accept it. */
  boolean send(long nowMs, String topic, String key, byte[] value) {
    RecordSink sink = sinks.get(nowMs);
    if (sink == null && !sinks.failed() && sinks.openingMs(nowMs) < SendBackoff.SILENCE_MS) {
      // the client is being created, which takes seconds on a busy host
      return false;
    }
    boolean taken = false;
    try {
      taken = sink != null && sink.send(topic, key, value);
    } catch (OutOfMemoryError full) {
      // the record waits until there is memory; the client still works
      faults.caught(full);
    } catch (Throwable broken) {
      // a client in a fatal state cannot be used again
      discardClient(sinks.drop(), "the Kafka client has failed", broken);
    }
    if (taken) {
      backoff.accepted();
    } else {
      backoff.rejected(nowMs);
    }
    return taken;
  }

  /**
   * Replaces a client whose thread has ended. If the cluster accepts nothing, takes its pending
   * records back, so that another cluster gets them.
   */
  void refresh(long nowMs) {
    discardClient(sinks.dropDead(nowMs), "the Kafka client's own thread has ended", null);
    if (returned != null && backoff.isOpen() && deliveries.pending() > 0) {
      takeBack();
    }
  }

  /** Takes all pending records back and closes their client; the next record opens another. */
  void takeBack() {
    RecordSink sink = sinks.drop();
    if (sink != null) {
      abandon(sink);
      // closing waits for the client's thread, which may be resolving the name of a broker
      DaemonThreads.of("disconnect", faults, () -> closeSink(sink, 0)).start();
    }
  }

  /** Closes the client within {@code budgetMs}, and never opens another. */
  void close(long budgetMs) {
    closeSink(sinks.close(), budgetMs);
  }

  /**
   * Closes a client. Its pending records are taken back if there is another route, else they count
   * as failed. The next record opens another client.
   */
  private void discardClient(RecordSink sink, String why, Throwable fault) {
    if (sink == null) {
      return;
    }
    PluginLog.warnOncePerMinute(why + "; another one will be created", fault);
    abandon(sink);
    closeSink(sink, 100);
  }

  private void abandon(RecordSink sink) {
    if (returned != null) {
      returned.accept(sink.withdraw());
    }
    deliveries.failPending();
  }

  private static void closeSink(RecordSink sink, long budgetMs) {
    try {
      if (sink != null) {
        sink.close(budgetMs);
      }
    } catch (Throwable fault) {
      PluginLog.warnOncePerMinute("the Kafka client cannot be closed", fault);
    }
  }
}
