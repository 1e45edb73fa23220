package io.sparkfuse.spark.transport;

import java.util.concurrent.atomic.LongAdder;

/** Counts what became of the records that the client took. */
public final class Deliveries {
  private final LongAdder taken = new LongAdder();
  private final LongAdder acknowledged = new LongAdder();
  private final LongAdder failed = new LongAdder();

  void tookOne() {
    taken.increment();
  }

  void acknowledgedOne() {
    acknowledged.increment();
  }

  void failedOne() {
    failed.increment();
  }

  /** Records that the broker acknowledged. */
  public long acknowledged() {
    return acknowledged.sum();
  }

  /** Records that were refused or timed out. */
  public long failed() {
    return failed.sum();
  }

  /** Records of which nothing is known yet. */
  public long open() {
    return taken.sum() - acknowledged.sum() - failed.sum();
  }
}
