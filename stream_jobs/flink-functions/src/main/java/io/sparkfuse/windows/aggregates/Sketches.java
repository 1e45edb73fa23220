package io.sparkfuse.windows.aggregates;

import com.datadoghq.sketch.ddsketch.DDSketch;
import com.datadoghq.sketch.ddsketch.DDSketches;
import com.datadoghq.sketch.ddsketch.encoding.ByteArrayInput;
import com.datadoghq.sketch.ddsketch.encoding.GrowingByteArrayOutput;
import com.datadoghq.sketch.ddsketch.store.UnboundedSizeDenseStore;
import java.io.IOException;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;

/** DDSketches (Masson, Rim, Lee: VLDB 2019), whose quantiles are within 1 % of the true value. */
public final class Sketches {
  static final double RELATIVE_ACCURACY = 0.01;

  private Sketches() {}

  public static DDSketch empty() {
    return DDSketches.unboundedDense(RELATIVE_ACCURACY);
  }

  public static byte[] encode(DDSketch sketch) {
    GrowingByteArrayOutput out = GrowingByteArrayOutput.withDefaultInitialCapacity();
    try {
      sketch.encode(out, false);
    } catch (IOException impossible) {
      throw new IllegalStateException(impossible);
    }
    return out.trimmedCopy();
  }

  public static DDSketch decode(byte[] encoded) {
    try {
      return encoded.length == 0
          ? empty()
          : DDSketch.decode(ByteArrayInput.wrap(encoded), UnboundedSizeDenseStore::new);
    } catch (IOException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /** The middle value, or the mean of the two middle values, as the kernel computes it. */
  public static double median(DDSketch sketch) {
    long count = (long) sketch.getCount();
    return (valueAt(sketch, (count - 1) / 2) + valueAt(sketch, count / 2)) / 2;
  }

  /** The 95th percentile by nearest rank, as the kernel computes it. */
  public static double p95(DDSketch sketch) {
    long count = (long) sketch.getCount();
    return valueAt(sketch, (count * 95 + 99) / 100 - 1);
  }

  /** The value at a position in the sorted values, counted from 0. */
  private static double valueAt(DDSketch sketch, long place) {
    long last = (long) sketch.getCount() - 1;
    // The sketch rounds a fractional position down; adding 0.5 protects the result against rounding
    // errors.
    return place >= last ? sketch.getMaxValue() : sketch.getValueAtQuantile((place + 0.5) / last);
  }

  /** Serializer of a sketch. */
  public static final class Serializer extends EncodedSerializer<DDSketch> {
    private static final long serialVersionUID = 1L;

    @Override
    byte[] encode(DDSketch value) {
      return Sketches.encode(value);
    }

    @Override
    DDSketch decode(byte[] encoded) {
      return Sketches.decode(encoded);
    }

    @Override
    public DDSketch createInstance() {
      return empty();
    }

    @Override
    public TypeSerializerSnapshot<DDSketch> snapshotConfiguration() {
      return new Snapshot();
    }

    /** Configuration from which a checkpoint restores the serializer. */
    public static final class Snapshot extends SimpleTypeSerializerSnapshot<DDSketch> {
      public Snapshot() {
        super(Serializer::new);
      }
    }
  }
}
