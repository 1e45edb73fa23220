package io.sparkfuse.spark.transport;

/** How late a record is dropped when room runs out: the lane, and within it what is many. */
enum Rank {
  /** Goes first: starts of tasks, progress, samples. */
  BULK(Lane.BULK, 0.05),
  /** Ends of tasks that did not fail: must not be lost, and must not push out what is few. */
  MANY(Lane.RESERVED, 0.95),
  /** Failures, and starts and ends of all that is few: goes last. */
  RESERVED(Lane.RESERVED, 1.0);

  final Lane lane;

  /** Which share of the room may be full when one more of this rank is taken. */
  final double share;

  Rank(Lane lane, double share) {
    this.lane = lane;
    this.share = share;
  }
}
