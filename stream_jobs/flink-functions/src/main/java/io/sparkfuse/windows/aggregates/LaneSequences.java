package io.sparkfuse.windows.aggregates;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.windows.wire.LaneSequence;
import io.sparkfuse.windows.wire.SequenceNumbers;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
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
  // When a number was last merged into each lane, by the clock of the caller; absent if it did not
  // give any.
  private final TreeMap<Key, Long> activeAt = new TreeMap<>();
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

  /**
   * Merges other numbers that arrived at {@code nowMs}, by a clock of the caller that never goes
   * back. [ms]
   */
  public void merge(LaneSequences others, long nowMs) {
    merge(others);
    others.ranges.keySet().forEach(key -> activeAt.put(key, nowMs));
  }

  /**
   * Replaces the lanes of collectors that are gone by their sum, as one collector of this name.
   *
   * @param prefix only collectors whose name begins with it can be gone
   * @param beforeMs a collector without a number since this time is gone
   * @return the names of the collectors that are gone
   */
  public Set<String> sumUp(String prefix, String name, long beforeMs) {
    Set<String> gone = new TreeSet<>();
    Set<String> present = new TreeSet<>();
    for (Key key : ranges.keySet()) {
      if (key.collector.startsWith(prefix) && !key.collector.equals(name)) {
        // A lane of a release that stored no time counts as active now.
        boolean silent = activeAt.computeIfAbsent(key, each -> beforeMs + 1) <= beforeMs;
        (silent ? gone : present).add(key.collector);
      }
    }
    gone.removeAll(present);
    for (Key key :
        ranges.keySet().stream().filter(each -> gone.contains(each.collector)).toList()) {
      ranges
          .computeIfAbsent(new Key(name, key.lane), each -> new SequenceRanges())
          .addTotals(ranges.remove(key));
      activeAt.remove(key);
    }
    if (!gone.isEmpty()) {
      last = null;
    }
    return gone;
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
      if (activeAt.containsKey(entry.getKey())) {
        lane.setActiveAt(activeAt.get(entry.getKey()));
      }
      entry.getValue().save(lane);
    }
    return saved.build();
  }

  public static LaneSequences restore(SequenceNumbers saved) {
    LaneSequences lanes = new LaneSequences();
    for (LaneSequence lane : saved.getLanesList()) {
      Key key = new Key(lane.getCollector(), lane.getLane());
      lanes.ranges.put(key, SequenceRanges.restore(lane));
      if (lane.hasActiveAt()) {
        lanes.activeAt.put(key, lane.getActiveAt());
      }
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
