package io.sparkfuse.spark.transport;

import java.util.concurrent.atomic.LongAdder;

/** Counts what became of the records that the client took. */
public final class DeliveryCounters {
  private final LongAdder taken = new LongAdder();
  private final LongAdder acknowledged = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private volatile long failedInARow;

  void tookOne() {
    taken.increment();
  }

  void acknowledgedOne() {
    acknowledged.increment();
    failedInARow = 0;
  }

  /** Called by one thread at a time: the client's own, or the sender's when that is not running. */
  @SuppressWarnings("NonAtomicOperationOnVolatileField") // a race could only lose a step of a count
  void failedOne() {
    failed.increment();
    failedInARow++;
  }

  /** The client is gone, and nobody will say what became of what it still held. */
  void lostOpen() {
    failed.add(Math.max(0, open()));
  }

  /** Records that the broker acknowledged. */
  public long acknowledged() {
    return acknowledged.sum();
  }

  /** Records that were refused or timed out. */
  public long failed() {
    return failed.sum();
  }

  /** Records that were refused or timed out since the last that was acknowledged. */
  public long failedInARow() {
    return failedInARow;
  }

  /** Records of which nothing is known yet. */
  public long open() {
    return taken.sum() - acknowledged.sum() - failed.sum();
  }
}
