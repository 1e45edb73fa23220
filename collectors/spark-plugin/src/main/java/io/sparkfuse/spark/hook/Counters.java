package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;

/** The counters of this driver. */
interface Counters {
  /** Returns what the driver knows now about the target of a signal. */
  Observation observe(Signal signal);
}
