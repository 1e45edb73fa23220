package io.sparkfuse.spark.listener;

import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.safety.CollectorProtection.Level;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerApplicationStart;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;

/**
 * Says which events are looked at while the collector does not collect everything. One that is not
 * costs two comparisons and a count, and leaves a hole in its lane.
 */
public final class EventFilter {
  private static final String SQL = "org.apache.spark.sql.";

  private final Supplier<Level> level;
  private final Consumer<Lane> passOver;

  /** {@code passOver} is told the lane that a passed-over event would have taken. */
  public EventFilter(Supplier<Level> level, Consumer<Lane> passOver) {
    this.level = level;
    this.passOver = passOver;
  }

  /** Whether an event is to be looked at; {@code works} is whether the listener still may. */
  boolean passes(SparkListenerEvent event, boolean works) {
    Level now = works ? level.get() : Level.NOTHING;
    if (now == Level.ALL) {
      return true;
    }
    if (works && event instanceof SparkListenerApplicationEnd) {
      return true;
    }
    if (now == Level.FEW && few(event)) {
      return true;
    }
    passOver(event);
    return false;
  }

  /** Leaves a hole where the fact of an event would have been. */
  void passOver(SparkListenerEvent event) {
    Lane lane = lane(event);
    if (lane != null) {
      passOver.accept(lane);
    }
    if (SqlFacts.makesTwo(event)) {
      passOver.accept(Lane.BULK);
    }
  }

  private static boolean few(SparkListenerEvent event) {
    return lane(event) == Lane.RESERVED
        && !(event instanceof SparkListenerTaskEnd)
        && !event.getClass().getName().startsWith(SQL);
  }

  /** The lane of the fact that an event becomes, or null when it becomes none that must be. */
  private static Lane lane(SparkListenerEvent event) {
    if (event instanceof SparkListenerTaskStart) {
      return Lane.BULK;
    }
    boolean counts =
        event instanceof SparkListenerTaskEnd
            || event instanceof SparkListenerStageSubmitted
            || event instanceof SparkListenerStageCompleted
            || event instanceof SparkListenerJobStart
            || event instanceof SparkListenerJobEnd
            || event instanceof SparkListenerApplicationStart
            || event instanceof SparkListenerApplicationEnd;
    return counts ? Lane.RESERVED : InfrequentEvents.lane(event);
  }
}
