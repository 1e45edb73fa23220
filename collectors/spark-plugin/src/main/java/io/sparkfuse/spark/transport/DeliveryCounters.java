package io.sparkfuse.spark.transport;

import java.util.concurrent.atomic.LongAdder;

/** Counts the results of records that the Kafka client accepted. */
public final class DeliveryCounters {
  private final LongAdder taken = new LongAdder();
  private final LongAdder acknowledged = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder refused = new LongAdder();
  private final LongAdder withdrawn = new LongAdder();
  private volatile long failedInARow;

  void acceptedOne() {
    taken.increment();
  }

  void acknowledgedOne() {
    acknowledged.increment();
    failedInARow = 0;
  }

  /**
   * Counts a failure. One thread at a time calls this method: the client's thread or, after the
   * client's thread has ended, the sender's thread.
   */
  @SuppressWarnings("NonAtomicOperationOnVolatileField") // a race could lose one increment
  void failedOne() {
    failed.increment();
    failedInARow++;
  }

  /** Counts a refusal of a record that stays pending, because another cluster may accept it. */
  @SuppressWarnings("NonAtomicOperationOnVolatileField") // called by the client's thread only
  void refusedOne() {
    refused.increment();
    failedInARow++;
  }

  /** Counts records as failed that were refused before the last acknowledgement. */
  void failedBefore(int records) {
    failed.add(records);
  }

  /** Counts pending records that were taken back and will be sent again. */
  void withdrawn(int records) {
    withdrawn.add(records);
  }

  /** Counts all pending records as failed, because their client is gone. */
  void failPending() {
    failed.add(Math.max(0, pending()));
  }

  /** Returns the number of records that the broker acknowledged. */
  public long acknowledged() {
    return acknowledged.sum();
  }

  /** Returns the number of records that were refused or timed out. */
  public long failed() {
    return failed.sum();
  }

  /** Returns the number of failed records since the last acknowledged record. */
  public long failedInARow() {
    return failedInARow;
  }

  /** Returns the number of records without a result. */
  public long pending() {
    return taken.sum() - acknowledged.sum() - failed.sum() - withdrawn.sum();
  }

  /** Returns a number that grows with each record that failed, was refused or was taken back. */
  long setbacks() {
    return failed.sum() + refused.sum() + withdrawn.sum();
  }
}
