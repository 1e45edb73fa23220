package io.sparkfuse.spark.facts;

import io.sparkfuse.contracts.Fact;
import java.util.List;

/**
 * Where the facts of a sampler go: through the driver, to Kafka, or into the driver's own queue.
 */
public interface FactSink {
  /** Whether facts are wanted and it is known whose they are; before that nothing can be sent. */
  boolean ready();

  /** Takes the facts of one pass, whose kinds and times are set; returns at once. */
  void send(List<Fact.Builder> facts);
}
