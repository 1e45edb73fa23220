package io.sparkfuse.spark.transport;

import io.sparkfuse.contracts.Fact;

/** One thing that waits to be sent: a fact to be made, a fact made elsewhere, or a receipt. */
public final class Outgoing {
  /**
   * What the objects of a fact cost beside its content: builder, message, and place in the queue,
   * as a heap histogram of a million task ends counted them.
   */
  static final int FACT_BYTES = 800;

  static final int READY_BYTES = 100;

  /** The short name of its topic. */
  public final String topic;

  final Rank rank;
  final Fact.Builder fact;
  final byte[] ready;
  final int bytes;

  /** The task whose start this is, or null. */
  final Long startedTask;

  /** The task whose end this is, or null. */
  final Long endedTask;

  long seq;
  long ticket;

  private Outgoing(String topic, Rank rank, Fact.Builder fact, byte[] ready, int bytes) {
    this.topic = topic;
    this.rank = rank;
    this.fact = fact;
    this.ready = ready;
    this.bytes = bytes;
    boolean starts = fact != null && fact.hasTaskStarted();
    boolean ends = fact != null && fact.hasTaskEnded();
    this.startedTask = starts ? (Long) fact.getTaskStarted().getTaskId() : null;
    this.endedTask = ends ? (Long) fact.getTaskEnded().getTaskId() : null;
  }

  /** A fact whose kind and time are set; {@code contentBytes} is its size, roughly. */
  public static Outgoing fact(Lane lane, Fact.Builder fact, int contentBytes) {
    return new Outgoing("facts", rank(lane, fact), fact, null, FACT_BYTES + contentBytes);
  }

  /** A fact that an executor made: it keeps that collector's name and number. */
  public static Outgoing forwarded(byte[] ready) {
    return new Outgoing("facts", Rank.BULK, null, ready, READY_BYTES + ready.length);
  }

  /** A fact that is ready, of an executor that sends by itself: it has nothing else to send. */
  static Outgoing own(byte[] ready) {
    return new Outgoing("facts", Rank.RESERVED, null, ready, READY_BYTES + ready.length);
  }

  /** A receipt of the hook, as JSON. */
  public static Outgoing receipt(byte[] ready) {
    return new Outgoing("actions", Rank.RESERVED, null, ready, READY_BYTES + ready.length);
  }

  private static Rank rank(Lane lane, Fact.Builder fact) {
    if (lane == Lane.BULK) {
      return Rank.BULK;
    }
    boolean many = fact.hasTaskEnded() && !fact.getTaskEnded().getOutcome().equals("failed");
    return many ? Rank.MANY : Rank.RESERVED;
  }
}
