package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.Lane;

/** Queues facts whose kind and {@code event_time_ms} are set. Does not block. */
public interface FactRecorder {
  void record(Lane lane, Fact.Builder fact);
}
