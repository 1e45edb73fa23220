package io.sparkfuse.windows.aggregates;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.windows.wire.LaneSequence;
import io.sparkfuse.windows.wire.SequenceNumbers;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;

/** The sequence numbers that arrived in each lane of each collector of one application. */
public final class LaneSequences {
  private record Key(String collector, String lane) implements Comparable<Key> {
    @Override
    public int compareTo(Key other) {
      int byCollector = collector.compareTo(other.collector);
      return byCollector != 0 ? byCollector : lane.compareTo(other.lane);
    }
  }

  private final TreeMap<Key, SequenceRanges> ranges = new TreeMap<>();
  // Consecutive facts often belong to one lane; if so, the map is not searched.
  private Key lastKey = new Key("", "");
  private SequenceRanges last;

  public void add(String collector, String lane, long number) {
    if (last == null || !lastKey.collector.equals(collector) || !lastKey.lane.equals(lane)) {
      lastKey = new Key(collector, lane);
      last = ranges.computeIfAbsent(lastKey, key -> new SequenceRanges());
    }
    last.add(number);
  }

  public void merge(LaneSequences others) {
    others.ranges.forEach(
        (key, other) -> ranges.computeIfAbsent(key, k -> new SequenceRanges()).merge(other));
  }

  /** Number of distinct facts that arrived. [count] */
  public long seen() {
    return ranges.values().stream().mapToLong(SequenceRanges::seen).sum();
  }

  /** Number of facts that the collectors numbered, as far as known. [count] */
  public long expected() {
    return ranges.values().stream().mapToLong(SequenceRanges::expected).sum();
  }

  /**
   * Facts that the collectors numbered before the first fact of their lane that arrived. [count]
   */
  public long before() {
    return ranges.values().stream().mapToLong(SequenceRanges::lowest).sum();
  }

  /**
   * Number of facts of one lane that were numbered and have not arrived, summed over all
   * collectors. [count]
   */
  public long missing(String lane) {
    long missing = 0;
    for (Map.Entry<Key, SequenceRanges> entry : ranges.entrySet()) {
      if (entry.getKey().lane.equals(lane)) {
        missing += entry.getValue().expected() - entry.getValue().seen();
      }
    }
    return missing;
  }

  boolean isEmpty() {
    return ranges.isEmpty();
  }

  public SequenceNumbers save() {
    SequenceNumbers.Builder saved = SequenceNumbers.newBuilder();
    for (Map.Entry<Key, SequenceRanges> entry : ranges.entrySet()) {
      LaneSequence.Builder lane =
          saved
              .addLanesBuilder()
              .setCollector(entry.getKey().collector)
              .setLane(entry.getKey().lane);
      entry.getValue().save(lane);
    }
    return saved.build();
  }

  public static LaneSequences restore(SequenceNumbers saved) {
    LaneSequences lanes = new LaneSequences();
    for (LaneSequence lane : saved.getLanesList()) {
      lanes.ranges.put(new Key(lane.getCollector(), lane.getLane()), SequenceRanges.restore(lane));
    }
    return lanes;
  }

  /** Serializer of the sequence numbers. */
  public static final class Serializer extends EncodedSerializer<LaneSequences> {
    private static final long serialVersionUID = 1L;

    @Override
    byte[] encode(LaneSequences value) {
      return value.save().toByteArray();
    }

    @Override
    LaneSequences decode(byte[] encoded) throws InvalidProtocolBufferException {
      return restore(SequenceNumbers.parseFrom(encoded));
    }

    @Override
    public LaneSequences createInstance() {
      return new LaneSequences();
    }

    @Override
    public TypeSerializerSnapshot<LaneSequences> snapshotConfiguration() {
      return new Snapshot();
    }

    /** Configuration from which a checkpoint restores the serializer. */
    public static final class Snapshot extends SimpleTypeSerializerSnapshot<LaneSequences> {
      public Snapshot() {
        super(Serializer::new);
      }
    }
  }
}
