package io.sparkfuse.windows;

import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.functions.AggregateFunction;

/**
 * {@code numbers_seen(collector, lane, seq)}: which facts of each lane came, as encoded
 * LaneNumbers.
 */
@FunctionHint(
    accumulator =
        @DataTypeHint(
            value = "RAW",
            bridgedTo = Lanes.class,
            rawSerializer = Lanes.Serializer.class),
    output = @DataTypeHint("BYTES"))
public final class NumbersSeen extends AggregateFunction<byte[], Lanes> {
  private static final long serialVersionUID = 1L;

  @Override
  public Lanes createAccumulator() {
    return new Lanes();
  }

  public void accumulate(Lanes lanes, String collector, String lane, Long number) {
    if (collector != null && lane != null && number != null) {
      lanes.add(collector, lane, number);
    }
  }

  public void merge(Lanes lanes, Iterable<Lanes> others) {
    for (Lanes other : others) {
      lanes.merge(other);
    }
  }

  @Override
  public byte[] getValue(Lanes lanes) {
    return lanes.isEmpty() ? null : lanes.save().toByteArray();
  }
}
