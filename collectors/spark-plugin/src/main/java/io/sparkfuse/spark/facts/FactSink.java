package io.sparkfuse.spark.facts;

import io.sparkfuse.contracts.Fact;
import java.util.List;

/**
 * Where a sampler sends its facts: to the driver by RPC, directly to Kafka, or into the driver's
 * own queue.
 */
public interface FactSink {
  /** Returns whether the collector is on and the application is known. */
  boolean ready();

  /**
   * Sends the facts of one pass; the caller has already set their kinds and times. Does not block.
   */
  void send(List<Fact.Builder> facts);
}
