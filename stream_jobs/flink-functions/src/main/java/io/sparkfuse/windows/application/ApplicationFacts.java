package io.sparkfuse.windows.application;

import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.windows.aggregates.LaneSequences;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.CollectorDrops;
import io.sparkfuse.windows.wire.SequenceNumbers;
import java.util.TreeMap;

/**
 * The facts of one application: how many arrived, and how many its collectors numbered or dropped.
 *
 * <p>Each executor is a collector with lanes of its own. When an executor has sent nothing for
 * {@link #GONE_MS}, only the sums over all such executors are stored. If an executor sends facts
 * after that time, the facts that it sent before are counted as expected twice, so the completeness
 * is too low.
 */
final class ApplicationFacts {
  /** An executor that sent no fact for this long is gone. It sends a sample every few seconds. */
  static final long GONE_MS = 3_600_000;

  /** The lane of starts and ends; Lane.RESERVED of the plugin. */
  private static final String RESERVED_LANE = "reserved";

  private static final String EXECUTOR = "executor-";

  /** The collector that has the sums. It begins with the prefix of executors. */
  private static final String GONE_EXECUTORS = "executor-gone";

  private final ObservedTime clock;
  private final LaneSequences lanes;
  private final TreeMap<String, Drops> drops = new TreeMap<>();

  /**
   * Number of all facts that a collector lost, and the number of those that Spark dropped before
   * the collector numbered them.
   */
  private record Drops(long dropped, long unnumbered) {
    static final Drops NONE = new Drops(0, 0);

    Drops higher(Drops other) {
      return new Drops(Math.max(dropped, other.dropped), Math.max(unnumbered, other.unnumbered));
    }

    Drops plus(Drops other) {
      return new Drops(dropped + other.dropped, unnumbered + other.unnumbered);
    }
  }

  private ApplicationFacts(LaneSequences lanes, ObservedTime clock) {
    this.lanes = lanes;
    this.clock = clock;
  }

  static ApplicationFacts restore(ApplicationState saved, ObservedTime clock) {
    ApplicationFacts facts = new ApplicationFacts(LaneSequences.restore(saved.getLanes()), clock);
    for (CollectorDrops drop : saved.getDropsList()) {
      facts.drops.put(drop.getCollector(), new Drops(drop.getDropped(), drop.getUnnumbered()));
    }
    return facts;
  }

  void save(ApplicationState.Builder state) {
    state.setLanes(lanes.save());
    drops.forEach(
        (collector, drop) ->
            state
                .addDropsBuilder()
                .setCollector(collector)
                .setDropped(drop.dropped)
                .setUnnumbered(drop.unnumbered));
  }

  /** Adds numbers; returns whether facts about starts or ends are missing that were not before. */
  boolean add(SequenceNumbers numbers) {
    long missing = lanes.missing(RESERVED_LANE);
    lanes.merge(LaneSequences.restore(numbers), clock.observedMs());
    long goneBefore = clock.observedMs() - GONE_MS;
    for (String collector : lanes.sumUp(EXECUTOR, GONE_EXECUTORS, goneBefore)) {
      Drops of = drops.remove(collector);
      if (of != null) {
        drops.merge(GONE_EXECUTORS, of, Drops::plus);
      }
    }
    return lanes.missing(RESERVED_LANE) > missing;
  }

  /**
   * Adds the counters of a collector, which only rise; returns whether facts about starts or ends
   * were dropped.
   */
  boolean add(String collector, CollectorHealth health) {
    long unnumbered = health.getSparkDroppedEvents();
    Drops reported =
        new Drops(health.getDroppedBulk() + health.getDroppedReserved() + unnumbered, unnumbered);
    Drops before = drops.getOrDefault(collector, Drops.NONE);
    if (!reported.equals(Drops.NONE)) {
      drops.merge(collector, reported, Drops::higher);
    }
    return health.getDroppedReserved() > 0 && reported.dropped > before.dropped;
  }

  /** Number of distinct facts that arrived. [count] */
  long seen() {
    return lanes.seen();
  }

  /** Facts that were numbered, and events that Spark dropped before they were numbered. [count] */
  long expected() {
    return lanes.expected() + drops.values().stream().mapToLong(Drops::unnumbered).sum();
  }

  /** Facts that were numbered before the first fact of their lane that arrived. [count] */
  long before() {
    return lanes.before();
  }

  /** Facts and events that the collectors lost. [count] */
  long dropped() {
    return drops.values().stream().mapToLong(Drops::dropped).sum();
  }

  /** Whether every numbered fact has arrived. */
  boolean isWhole() {
    return lanes.seen() >= lanes.expected();
  }
}
