package io.sparkfuse.windows.aggregates;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnsafeByteOperations;
import io.sparkfuse.windows.wire.LatestFact;
import io.sparkfuse.windows.wire.LatestFacts;
import java.util.TreeMap;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.functions.AggregateFunction;

/**
 * {@code latest_fact(key, rank, value)}: returns the record with the highest rank of each key, as
 * encoded LatestFacts.
 */
@FunctionHint(
    accumulator =
        @DataTypeHint(
            value = "RAW",
            bridgedTo = LatestFactAggregate.Latest.class,
            rawSerializer = LatestFactAggregate.Serializer.class),
    output = @DataTypeHint("BYTES"))
public final class LatestFactAggregate
    extends AggregateFunction<byte[], LatestFactAggregate.Latest> {
  private static final long serialVersionUID = 1L;

  /** The record with the highest rank of each key; if ranks are equal, the last one. */
  public static final class Latest {
    private final TreeMap<String, LatestFact> facts = new TreeMap<>();

    void offer(LatestFact fact) {
      facts.merge(fact.getKey(), fact, (old, next) -> next.getRank() >= old.getRank() ? next : old);
    }

    byte[] encode() {
      return LatestFacts.newBuilder().addAllLatest(facts.values()).build().toByteArray();
    }
  }

  @Override
  public Latest createAccumulator() {
    return new Latest();
  }

  public void accumulate(Latest latest, String key, Long rank, byte[] value) {
    if (key != null && value != null) {
      ByteString fact = UnsafeByteOperations.unsafeWrap(value);
      latest.offer(
          LatestFact.newBuilder()
              .setKey(key)
              .setRank(rank == null ? 0 : rank)
              .setFact(fact)
              .build());
    }
  }

  public void merge(Latest latest, Iterable<Latest> others) {
    for (Latest other : others) {
      other.facts.values().forEach(latest::offer);
    }
  }

  @Override
  public byte[] getValue(Latest latest) {
    return latest.facts.isEmpty() ? null : latest.encode();
  }

  /** Serializer of the latest records. */
  public static final class Serializer extends EncodedSerializer<Latest> {
    private static final long serialVersionUID = 1L;

    @Override
    byte[] encode(Latest value) {
      return value.encode();
    }

    @Override
    Latest decode(byte[] encoded) throws InvalidProtocolBufferException {
      Latest latest = new Latest();
      LatestFacts.parseFrom(encoded).getLatestList().forEach(latest::offer);
      return latest;
    }

    @Override
    public Latest createInstance() {
      return new Latest();
    }

    @Override
    public TypeSerializerSnapshot<Latest> snapshotConfiguration() {
      return new Snapshot();
    }

    /** Configuration from which a checkpoint restores the serializer. */
    public static final class Snapshot extends SimpleTypeSerializerSnapshot<Latest> {
      public Snapshot() {
        super(Serializer::new);
      }
    }
  }
}
