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
 * Decides which events the listener processes while the level of the collector is {@code FEW} or
 * {@code NOTHING}. A skipped event costs two comparisons and a counter. The sequence number of its
 * fact is used, so that consumers see a gap.
 */
public final class EventFilter {
  private static final String SQL = "org.apache.spark.sql.";

  private final Supplier<Level> level;
  private final Consumer<Lane> skipped;

  /** Creates a filter; {@code skipped} receives the lane of each skipped event. */
  public EventFilter(Supplier<Level> level, Consumer<Lane> skipped) {
    this.level = level;
    this.skipped = skipped;
  }

  /**
   * Returns whether the event is to be processed; {@code works} is false if the listener has
   * switched itself off.
   */
  boolean passes(SparkListenerEvent event, boolean works) {
    Level now = works ? level.get() : Level.NOTHING;
    if (now == Level.ALL) {
      return true;
    }
    if (works && event instanceof SparkListenerApplicationEnd) {
      return true;
    }
    if (now == Level.FEW && isInfrequent(event)) {
      return true;
    }
    skip(event);
    return false;
  }

  /** Uses up the sequence numbers of the facts that the event would have produced. */
  void skip(SparkListenerEvent event) {
    Lane lane = lane(event);
    if (lane != null) {
      skipped.accept(lane);
    }
    if (SqlFacts.producesTwoFacts(event)) {
      skipped.accept(Lane.BULK);
    }
  }

  private static boolean isInfrequent(SparkListenerEvent event) {
    return lane(event) == Lane.RESERVED
        && !(event instanceof SparkListenerTaskEnd)
        && !event.getClass().getName().startsWith(SQL);
  }

  /** Returns the lane of the fact that the event produces, or null if it produces none. */
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
