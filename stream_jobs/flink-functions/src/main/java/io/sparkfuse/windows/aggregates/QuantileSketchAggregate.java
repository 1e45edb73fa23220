package io.sparkfuse.windows.aggregates;

import com.datadoghq.sketch.ddsketch.DDSketch;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.functions.AggregateFunction;

/**
 * {@code quantile_sketch(value)}: returns the values of the window as an encoded DDSketch; NULL if
 * there are none.
 */
@FunctionHint(
    accumulator =
        @DataTypeHint(
            value = "RAW",
            bridgedTo = DDSketch.class,
            rawSerializer = Sketches.Serializer.class),
    output = @DataTypeHint("BYTES"))
public final class QuantileSketchAggregate extends AggregateFunction<byte[], DDSketch> {
  private static final long serialVersionUID = 1L;

  @Override
  public DDSketch createAccumulator() {
    return Sketches.empty();
  }

  public void accumulate(DDSketch sketch, Long value) {
    if (value != null) {
      sketch.accept(Math.max(0, value));
    }
  }

  public void merge(DDSketch sketch, Iterable<DDSketch> others) {
    for (DDSketch other : others) {
      sketch.mergeWith(other);
    }
  }

  @Override
  public byte[] getValue(DDSketch sketch) {
    return sketch.isEmpty() ? null : Sketches.encode(sketch);
  }
}
