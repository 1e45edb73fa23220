package io.sparkfuse.spark.transport;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.Lane;

/**
 * One item that waits to be sent: a fact that is not yet encoded, an encoded fact of an executor,
 * or a receipt.
 */
public final class QueuedRecord {
  /** The order in which records are dropped if the backlog's memory is full. */
  enum Priority {
    /** Dropped first: task starts, task progress and samples. */
    BULK(Lane.BULK, 0.05),
    /** Ends of tasks that did not fail: numerous, so they must not displace rarer records. */
    MANY(Lane.RESERVED, 0.95),
    /** Dropped last: failures, and the starts and ends of jobs, stages, queries and executors. */
    RESERVED(Lane.RESERVED, 1.0);

    final Lane lane;

    /** A record of this priority is accepted while less than this share of the memory is used. */
    final double share;

    Priority(Lane lane, double share) {
      this.lane = lane;
      this.share = share;
    }
  }

  /** The topics of records, without prefix. */
  static final String FACTS = "facts";

  static final String RECEIPTS = "receipts";

  /**
   * Memory in bytes that a fact needs in addition to its content: builder, message and queue entry.
   * It was measured with a heap histogram of a million task ends.
   */
  static final int FACT_BYTES = 800;

  static final int READY_BYTES = 100;

  /** The topic, without prefix. */
  public final String topic;

  final Priority priority;
  final Fact.Builder fact;
  final byte[] ready;
  final int bytes;

  /** The task that starts with this fact, or null. */
  final Long startedTask;

  /** The task that ends with this fact, or null. */
  final Long endedTask;

  long seq;
  long ticket;

  private QueuedRecord(
      String topic, Priority priority, Fact.Builder fact, byte[] ready, int bytes) {
    this.topic = topic;
    this.priority = priority;
    this.fact = fact;
    this.ready = ready;
    this.bytes = bytes;
    boolean starts = fact != null && fact.hasTaskStarted();
    boolean ends = fact != null && fact.hasTaskEnded();
    this.startedTask = starts ? (Long) fact.getTaskStarted().getTaskId() : null;
    this.endedTask = ends ? (Long) fact.getTaskEnded().getTaskId() : null;
  }

  /**
   * Returns an item for a fact whose kind and time are set; {@code contentBytes} is its approximate
   * size.
   */
  public static QueuedRecord fact(Lane lane, Fact.Builder fact, int contentBytes) {
    return new QueuedRecord(FACTS, priority(lane, fact), fact, null, FACT_BYTES + contentBytes);
  }

  /**
   * Returns an item for an encoded fact of an executor; the fact keeps its collector name and
   * sequence number.
   */
  public static QueuedRecord forwarded(byte[] ready) {
    return new QueuedRecord(FACTS, Priority.BULK, null, ready, READY_BYTES + ready.length);
  }

  /** Returns an item for an encoded fact of an executor that sends directly. */
  static QueuedRecord own(byte[] ready) {
    return new QueuedRecord(FACTS, Priority.RESERVED, null, ready, READY_BYTES + ready.length);
  }

  /** Returns an item for a receipt of the hook, as JSON. */
  public static QueuedRecord receipt(byte[] ready) {
    return new QueuedRecord(RECEIPTS, Priority.RESERVED, null, ready, READY_BYTES + ready.length);
  }

  private static Priority priority(Lane lane, Fact.Builder fact) {
    if (lane == Lane.BULK) {
      return Priority.BULK;
    }
    boolean many = fact.hasTaskEnded() && !fact.getTaskEnded().getOutcome().equals("failed");
    return many ? Priority.MANY : Priority.RESERVED;
  }
}
