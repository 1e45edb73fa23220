package io.sparkfuse.spark.blocks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Predicate;

/**
 * The gates between a block of job code and the cancellation of a job, in the order in which they
 * are evaluated. Each gate is a pure function of one {@link Case}, so that a test can remove one
 * gate and show what the gate prevents.
 */
final class BlockGates {
  static final String LIMIT = "limit";
  static final String COMPLETE = "complete";
  static final String HOLD = "hold";
  static final String SAFE_POINT = "safe_point";
  static final String TAG = "tag";

  /** One limit of a block at one moment, and one running job. */
  static final class Case {
    /** Key of the block. */
    String block;

    /**
     * The limit's value, the usage of all tasks, and the part of this usage that is certain even if
     * Spark dropped events.
     */
    long bound;

    long used;
    long certain;
    boolean droppedEvents;
    boolean held;
    boolean inSafePoint;

    /**
     * Time in ms since the limit was exceeded, and the longest wait for the end of a safe point.
     */
    long overMs;

    long safePointMs;

    /**
     * Keys of the blocks whose tags the job carries; null if the case is about the block and not
     * about a job.
     */
    List<String> tags;
  }

  /** A gate and its name. */
  static final class Gate {
    final String name;
    private final Predicate<Case> passes;

    private Gate(String name, Predicate<Case> passes) {
      this.name = name;
      this.passes = passes;
    }
  }

  static final List<Gate> ALL =
      Collections.unmodifiableList(
          Arrays.asList(
              new Gate(LIMIT, each -> each.used > each.bound),
              // A task whose end event was dropped would count as running forever.
              new Gate(COMPLETE, each -> !each.droppedEvents || each.certain > each.bound),
              new Gate(HOLD, each -> !each.held),
              new Gate(SAFE_POINT, each -> !each.inSafePoint || each.overMs >= each.safePointMs),
              new Gate(TAG, each -> each.tags == null || each.tags.contains(each.block))));

  private BlockGates() {}

  /** Returns all gates except the named one; throws if there is no gate of that name. */
  static List<Gate> without(String name) {
    List<Gate> rest = new ArrayList<>(ALL);
    if (!rest.removeIf(gate -> gate.name.equals(name))) {
      throw new IllegalArgumentException("there is no gate " + name);
    }
    return rest;
  }

  /** Returns the name of the first gate that does not pass, or null. */
  static String refusal(List<Gate> gates, Case each) {
    for (Gate gate : gates) {
      if (!gate.passes.test(each)) {
        return gate.name;
      }
    }
    return null;
  }
}
