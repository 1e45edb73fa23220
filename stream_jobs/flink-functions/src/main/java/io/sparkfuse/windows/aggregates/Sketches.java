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
