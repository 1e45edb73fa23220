package io.sparkfuse.spark.hook;

import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * What the driver knows about the target of a signal at one moment. Immutable after it is built.
 */
final class Observation {
  /**
   * Columns of the view stage_live for the signal's stage attempt; empty if the attempt is not
   * running.
   */
  Map<String, Long> columns = Collections.emptyMap();

  /**
   * Counters of the signal's task and query, and of the application; a missing counter is unknown.
   */
  Map<String, Long> wider = Collections.emptyMap();

  /** Longest time since a running task reported progress or started, in ms. */
  long progressAgeMs;

  /** Events that Spark dropped before they reached the plugin; negative if unknown. */
  long droppedEvents;

  /** Whether the plugin skipped events of the target to protect the driver. */
  boolean skippedEvents;

  /** Whether the registry forgot jobs, stages or tasks that ran. */
  boolean overflowed;

  /**
   * Whether executors send their progress directly to Kafka, so that the driver does not see it.
   */
  boolean directTransport;

  /** Running jobs of the signal's stage. */
  Set<Integer> stageJobs = Collections.emptySet();

  /**
   * Running jobs of the signal's query: of its SQL execution or, without one, of its job tag or
   * group.
   */
  Set<Integer> queryJobs = Collections.emptySet();

  /** Running tasks of the signal's stage attempt. */
  Set<Long> stageTasks = Collections.emptySet();

  /** How many users, sessions or job groups the query's jobs belong to. */
  int queryOwners;

  /** Why the driver is shared by several users or queries; null if it is not. */
  String sharedBy;

  /** Returns a counter by name, or null if it is not known. */
  Long counter(String name) {
    Long value = columns.get(name);
    return value == null ? wider.get(name) : value;
  }

  boolean stageRuns() {
    return !columns.isEmpty();
  }

  /** Returns whether the stage is part of the query. */
  boolean queryHasStage() {
    Set<Integer> both = new TreeSet<>(stageJobs);
    both.retainAll(queryJobs);
    return !both.isEmpty();
  }
}
