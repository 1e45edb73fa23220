package io.sparkfuse.spark.sampler;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.FactSink;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.listener.FactRecorder;
import java.util.List;
import java.util.function.BooleanSupplier;

/** Adds the samples of the driver's own JVM to the driver's queue. */
public final class DriverFactSink implements FactSink {
  private final FactRecorder recorder;
  private final BooleanSupplier wanted;

  /** Creates a sink; {@code wanted} returns whether the collector is on. */
  public DriverFactSink(FactRecorder recorder, BooleanSupplier wanted) {
    this.recorder = recorder;
    this.wanted = wanted;
  }

  @Override
  public boolean ready() {
    return wanted.getAsBoolean();
  }

  @Override
  public void send(List<Fact.Builder> facts) {
    facts.forEach(fact -> recorder.record(Lane.BULK, fact));
  }
}
