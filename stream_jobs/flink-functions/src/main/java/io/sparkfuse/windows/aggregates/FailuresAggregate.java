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
 * {@code failures_by_class(failure)}: failed task ends, which come as the records they were, as
 * encoded FailedTasks; NULL when none failed.
 *
 * <p>Records, because of a thousand ends few fail: their texts are read when they do.
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

  /** State form of the failures. */
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

    /** Lets a checkpoint find the serializer again. */
    public static final class Snapshot extends SimpleTypeSerializerSnapshot<Failures> {
      public Snapshot() {
        super(Serializer::new);
      }
    }
  }
}
