package io.sparkfuse.spark.sampler;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.FactOutlet;
import io.sparkfuse.spark.listener.FactRecorder;
import io.sparkfuse.spark.transport.Lane;
import java.util.List;

/** Puts the samples of the driver's own JVM into the driver's queue. */
public final class DriverOutlet implements FactOutlet {
  private final FactRecorder recorder;

  public DriverOutlet(FactRecorder recorder) {
    this.recorder = recorder;
  }

  /** The sender waits until it knows the application. */
  @Override
  public boolean ready() {
    return true;
  }

  @Override
  public void send(List<Fact.Builder> facts, long nowMs) {
    facts.forEach(fact -> recorder.record(Lane.BULK, fact));
  }
}
