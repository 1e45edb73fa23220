package io.sparkfuse.spark.transport;

import io.sparkfuse.contracts.Fact;

/** One thing that waits to be sent: a fact to be made, a fact made elsewhere, or a receipt. */
public final class Outgoing {
  /** What an object in the queue costs beside its content, roughly. */
  private static final int OVERHEAD_BYTES = 300;

  /** The short name of its topic. */
  public final String topic;

  final Lane lane;
  final Fact.Builder fact;
  final byte[] ready;
  final int bytes;
  long seq;
  long ticket;

  private Outgoing(String topic, Lane lane, Fact.Builder fact, byte[] ready, int bytes) {
    this.topic = topic;
    this.lane = lane;
    this.fact = fact;
    this.ready = ready;
    this.bytes = bytes + OVERHEAD_BYTES;
  }

  /** A fact whose kind and time are set; {@code contentBytes} is its size, roughly. */
  public static Outgoing fact(Lane lane, Fact.Builder fact, int contentBytes) {
    return new Outgoing("facts", lane, fact, null, contentBytes);
  }

  /** A fact that an executor made: it keeps that collector's name and number. */
  public static Outgoing forwarded(byte[] ready) {
    return new Outgoing("facts", Lane.BULK, null, ready, ready.length);
  }

  /** A receipt of the hook, as JSON. */
  public static Outgoing receipt(byte[] ready) {
    return new Outgoing("actions", Lane.RESERVED, null, ready, ready.length);
  }
}
