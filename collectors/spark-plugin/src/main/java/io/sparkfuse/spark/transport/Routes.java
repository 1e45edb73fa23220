package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.safety.SteadyClock;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ToLongFunction;

/**
 * Sends each record to the first Kafka cluster whose backoff allows it: the configured cluster, or
 * the fallback while the configured cluster accepts nothing.
 *
 * <p>When a backoff opens, the records that its cluster did not acknowledge are sent again. The
 * cluster may have stored some of them, so {@link #resent} counts them all. Used by the sender's
 * thread only; any thread may read the counters.
 */
public final class Routes {
  private static final int NONE = -1;

  private final List<Route> routes = new ArrayList<>();

  /**
   * Records that were taken back; they are sent before all others. Records are accepted by clients
   * only while this queue is empty, so the limits of all {@link UnacknowledgedRecords} together
   * limit this queue too.
   */
  private final ArrayDeque<SentRecord> returned = new ArrayDeque<>();

  private final LongAdder waiting = new LongAdder();
  private final LongAdder waitingBytes = new LongAdder();
  private final LongAdder resent = new LongAdder();
  private volatile int current;
  private volatile boolean stopping;

  Routes(List<RecordSink.Factory> factories, FaultCounter faults) {
    boolean several = factories.size() > 1;
    for (RecordSink.Factory factory : factories) {
      routes.add(new Route(factory, faults, several ? this::putBack : null));
    }
  }

  /** Returns whether there is a fallback cluster. */
  public boolean hasFallback() {
    return routes.size() > 1;
  }

  /** Returns whether records go to the fallback cluster. */
  public boolean onFallback() {
    return current > 0;
  }

  /** Returns the number of records that the clusters acknowledged. */
  public long acknowledged() {
    return sum(DeliveryCounters::acknowledged);
  }

  /** Returns the number of records that the fallback cluster acknowledged. */
  public long fallbackAcknowledged() {
    return acknowledged() - first().deliveries().acknowledged();
  }

  /** Returns the number of records that were refused or timed out. */
  public long failed() {
    return sum(DeliveryCounters::failed);
  }

  /** Returns the number of records that a client accepted and that have no result. */
  public long pending() {
    return sum(DeliveryCounters::pending);
  }

  /** Returns the number of records that were sent again, so that they may exist twice. */
  public long resent() {
    return resent.sum();
  }

  /** Returns closed if a cluster accepts records, else open or half-open. */
  public String backoffState() {
    return isClosed() ? "closed" : first().backoff().state();
  }

  /** Returns the number of records that were taken back and wait. */
  int waiting() {
    return waiting.intValue();
  }

  /** Returns the memory of the records that were taken back and wait, in bytes. */
  long waitingBytes() {
    return waitingBytes.sum();
  }

  /** Returns whether a cluster accepts records without restriction. */
  boolean isClosed() {
    return firstClosed() != NONE;
  }

  /** Returns whether no cluster may get a record now. */
  boolean areAllOpen() {
    return routes.stream().allMatch(route -> route.backoff().isOpen());
  }

  /** Returns whether a record may be sent now. */
  boolean allow(long nowMs) {
    boolean any = false;
    for (Route route : routes) {
      any |= route.allows(nowMs);
    }
    return any;
  }

  /**
   * Sends a record and returns true, or returns false if no client accepted it. While a cluster may
   * still answer in time, the record waits for it and does not go to the next one.
   */
  boolean send(String topic, String key, byte[] value) {
    for (Route route : routes) {
      long nowMs = SteadyClock.ms();
      boolean allowed = route.allows(nowMs);
      route.refresh(nowMs); // if the backoff has just opened, the pending records go first
      if (allowed) {
        if (route.send(nowMs, topic, key, value)) {
          return true;
        }
        if (route.backoff().closed() && !stopping) {
          return false;
        }
      }
    }
    return false;
  }

  /** Sends records that were taken back; returns whether none is left. */
  boolean sendReturned(String key) {
    while (!returned.isEmpty()) {
      SentRecord oldest = returned.peekFirst();
      if (!send(oldest.topic, key, oldest.value)) {
        return false;
      }
      returned.remove(oldest); // sending may have put other records before this one
      waiting.decrement();
      waitingBytes.add(-oldest.bytes());
      resent.increment();
    }
    return true;
  }

  /** Takes records back from clusters that accept nothing, and logs a change of the cluster. */
  void refresh() {
    long nowMs = SteadyClock.ms();
    allow(nowMs);
    routes.forEach(route -> route.refresh(nowMs));
    int now = firstClosed();
    if (now != current) {
      log(now);
      current = now;
    }
  }

  /** From now on, a record that one cluster does not accept immediately goes to the next one. */
  void stopSoon() {
    stopping = true;
  }

  /** Returns the number of acknowledged records of each cluster. */
  long[] acknowledgedByRoute() {
    return routes.stream().mapToLong(route -> route.deliveries().acknowledged()).toArray();
  }

  /**
   * Takes pending records back from each cluster that acknowledged nothing since {@code before}.
   */
  void takeBackFromSilent(long[] before) {
    for (int i = 0; i < before.length && hasFallback(); i++) {
      DeliveryCounters results = routes.get(i).deliveries();
      if (results.pending() > 0 && results.acknowledged() == before[i]) {
        routes.get(i).takeBack();
        routes.get(i).backoff().open(SteadyClock.ms());
      }
    }
  }

  /** Closes the clients within {@code budgetMs}. */
  void close(long budgetMs) {
    for (Route route : routes) {
      boolean useful = route.deliveries().pending() > 0 || !hasFallback();
      route.close(useful ? budgetMs / routes.size() : 0);
    }
  }

  private void putBack(List<SentRecord> records) {
    for (int i = records.size() - 1; i >= 0; i--) {
      returned.addFirst(records.get(i));
      waiting.increment();
      waitingBytes.add(records.get(i).bytes());
    }
  }

  private int firstClosed() {
    for (int i = 0; i < routes.size(); i++) {
      if (routes.get(i).backoff().closed()) {
        return i;
      }
    }
    return NONE;
  }

  private void log(int now) {
    String home = "Kafka at " + first().brokers();
    if (now == NONE) {
      PluginLog.warnOncePerMinute(
          (hasFallback() ? home + " and the fallback accept" : home + " accepts")
              + " no records; they wait in memory and are dropped if it is full",
          null);
    } else if (now == 0) {
      String meanwhile =
          hasFallback() ? "; the fallback acknowledged " + fallbackAcknowledged() + " so far" : "";
      PluginLog.info("Sparkfuse: " + home + " accepts records again" + meanwhile);
    } else {
      String to = "; records go to the fallback at " + routes.get(now).brokers();
      PluginLog.warnOncePerMinute(home + " accepts no records" + to, null);
    }
  }

  private Route first() {
    return routes.get(0);
  }

  private long sum(ToLongFunction<DeliveryCounters> counter) {
    return routes.stream().map(Route::deliveries).mapToLong(counter).sum();
  }
}
