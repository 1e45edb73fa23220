package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.json.JsonReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Everything outside the hook, in memory: the clock and the broker's time, which a test advances,
 * counters, which a test sets, and lists of receipts and acts.
 */
final class InMemoryEdge implements Clock, Controls, Counters, Actuator, ReceiptWriter {
  long clockMs = 5_000;

  /** The broker's time minus {@link #clockMs}. */
  long brokerAheadMs;

  /** Time that each acknowledgement takes. */
  long acknowledgementMs;

  /** Time that passes before the counters are read. */
  long pauseMs;

  boolean brokerReachable = true;
  boolean controlsReachable = true;
  ControlBook book;
  Observation observed = new Observation();
  ActResult result = new ActResult(true, 2, 0, "the target has ended");
  Exception fault;

  /** Runs before each acknowledgement, for example to let a hold arrive. */
  Runnable whileWaiting = () -> {};

  final List<Map<?, ?>> receipts = new ArrayList<>();

  /** Time in ms that {@link #awaitSafePoint} waits for the end of a safe point. */
  long safePointMs;

  /** Runs while the hook waits for the end of a safe point. */
  Runnable inSafePoint = () -> {};

  /** Actions that were carried out; a warning is "warn". */
  final List<String> acts = new ArrayList<>();

  /** The signals of the stops that were carried out. */
  final List<Signal> signals = new ArrayList<>();

  InMemoryEdge(PublicKeys keys) {
    book = new ControlBook(keys);
  }

  HookEdge edge() {
    return new HookEdge(this, () -> clockMs + brokerAheadMs, this, this, this, this);
  }

  long brokerMs() {
    return clockMs + brokerAheadMs;
  }

  @Override
  public long ms() {
    return clockMs;
  }

  @Override
  public ControlSnapshot refresh(long limitMs) {
    return controlsReachable
        ? book.snapshot()
        : ControlSnapshot.unreachable("the broker does not answer");
  }

  @Override
  public Observation observe(Signal signal) {
    clockMs += pauseMs;
    return observed;
  }

  @Override
  public void warn(String text) {
    acts.add("warn");
  }

  @Override
  public ActResult act(Signal signal, String reason) throws Exception {
    acts.add(signal.getAction());
    signals.add(signal);
    if (fault != null) {
      throw fault;
    }
    return result;
  }

  @Override
  public long awaitSafePoint(Signal signal) {
    inSafePoint.run();
    clockMs += safePointMs;
    return safePointMs;
  }

  @Override
  public Set<String> blocks(Signal signal) {
    return Collections.singleton("sparkfuse-block.0123456789abcdef.orders");
  }

  @Override
  public void switchCollector(boolean off) {
    acts.add(off ? "collector_off" : "collector_on");
  }

  @Override
  public long writeAndWait(String json, long limitMs) {
    whileWaiting.run();
    clockMs += acknowledgementMs;
    if (!brokerReachable || acknowledgementMs > limitMs) {
      return UNKNOWN;
    }
    write(json);
    return brokerMs();
  }

  @Override
  public void write(String json) {
    receipts.add((Map<?, ?>) JsonReader.read(json));
  }

  /** Returns the outcome of the last receipt. */
  String outcome() {
    return receipts.isEmpty() ? "none" : (String) receipts.get(receipts.size() - 1).get("outcome");
  }

  /** Returns the gate that the last receipt names, or null. */
  Object gate() {
    return receipts.get(receipts.size() - 1).get("gate");
  }

  /** Returns whether work was stopped. */
  boolean stopped() {
    return acts.stream().anyMatch(Actions.STOPS::contains);
  }
}
