package io.sparkfuse.windows.aggregates;

import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.functions.AggregateFunction;

/**
 * {@code sequence_numbers(collector, lane, seq)}: returns the sequence numbers of the facts that
 * arrived in each lane, as encoded SequenceNumbers.
 */
@FunctionHint(
    accumulator =
        @DataTypeHint(
            value = "RAW",
            bridgedTo = LaneSequences.class,
            rawSerializer = LaneSequences.Serializer.class),
    output = @DataTypeHint("BYTES"))
public final class SequenceNumbersAggregate extends AggregateFunction<byte[], LaneSequences> {
  private static final long serialVersionUID = 1L;

  @Override
  public LaneSequences createAccumulator() {
    return new LaneSequences();
  }

  public void accumulate(LaneSequences lanes, String collector, String lane, Long number) {
    if (collector != null && lane != null && number != null) {
      lanes.add(collector, lane, number);
    }
  }

  public void merge(LaneSequences lanes, Iterable<LaneSequences> others) {
    for (LaneSequences other : others) {
      lanes.merge(other);
    }
  }

  @Override
  public byte[] getValue(LaneSequences lanes) {
    return lanes.isEmpty() ? null : lanes.save().toByteArray();
  }
}
