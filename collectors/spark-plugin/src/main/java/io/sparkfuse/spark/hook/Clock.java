package io.sparkfuse.spark.hook;

/** A monotonic clock, for durations only; the time of day comes from the broker. */
interface Clock {
  /** Returns milliseconds since an arbitrary time; the result never decreases. */
  long ms();
}
