package io.sparkfuse.windows.aggregates;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.windows.facts.FactParser;
import io.sparkfuse.windows.wire.FailedTasks;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.functions.AggregateFunction;

/**
 * {@code failures_by_class(failure)}: returns the failed task attempts of the window as encoded
 * FailedTasks; NULL if none failed.
 *
 * <p>The argument is the undecoded record, because few tasks fail and only their texts are needed.
 */
@FunctionHint(
    accumulator =
        @DataTypeHint(
            value = "RAW",
            bridgedTo = Failures.class,
            rawSerializer = FailuresAggregate.Serializer.class),
    output = @DataTypeHint("BYTES"))
public final class FailuresAggregate extends AggregateFunction<byte[], Failures> {
  private static final long serialVersionUID = 1L;

  @Override
  public Failures createAccumulator() {
    return new Failures();
  }

  public void accumulate(Failures failures, byte[] failure) {
    Fact fact = failure == null ? null : FactParser.parse(failure);
    if (fact != null && fact.hasTaskEnded()) {
      failures.add(fact.getTaskEnded());
    }
  }

  public void merge(Failures failures, Iterable<Failures> others) {
    others.forEach(other -> failures.add(other.save()));
  }

  @Override
  public byte[] getValue(Failures failures) {
    return failures.isEmpty() ? null : failures.save().toByteArray();
  }

  /** Serializer of the failures. */
  public static final class Serializer extends EncodedSerializer<Failures> {
    private static final long serialVersionUID = 1L;

    @Override
    byte[] encode(Failures value) {
      return value.save().toByteArray();
    }

    @Override
    Failures decode(byte[] encoded) throws InvalidProtocolBufferException {
      return Failures.restore(FailedTasks.parseFrom(encoded));
    }

    @Override
    public Failures createInstance() {
      return new Failures();
    }

    @Override
    public TypeSerializerSnapshot<Failures> snapshotConfiguration() {
      return new Snapshot();
    }

    /** Configuration from which a checkpoint restores the serializer. */
    public static final class Snapshot extends SimpleTypeSerializerSnapshot<Failures> {
      public Snapshot() {
        super(Serializer::new);
      }
    }
  }
}
