package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.Lane;
import org.apache.spark.scheduler.SparkListenerBlockManagerAdded;
import org.apache.spark.scheduler.SparkListenerBlockManagerRemoved;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;

/**
 * Copies the infrequent events: executors, nodes, resource profiles, SQL and streaming.
 *
 * <p>Events whose classes are not in spark-core of every Spark version are recognised by class
 * name.
 */
final class InfrequentEvents {
  private static final String PROFILE_ADDED =
      "org.apache.spark.scheduler.SparkListenerResourceProfileAdded";

  private final FactRecorder recorder;
  private final SqlFacts sql;
  private final NodeFacts nodes = new NodeFacts();

  InfrequentEvents(FactRecorder recorder, SqlFacts sql) {
    this.recorder = recorder;
    this.sql = sql;
  }

  /** Returns the lane of the first fact that the event produces, or null if it produces none. */
  static Lane lane(SparkListenerEvent event) {
    String type = event.getClass().getName();
    if (type.startsWith(SqlFacts.PREFIX)) {
      return SqlFacts.lane(type);
    }
    if (type.startsWith(StreamingFacts.PREFIX)) {
      return StreamingFacts.lane(type);
    }
    boolean counts =
        event instanceof SparkListenerExecutorAdded
            || event instanceof SparkListenerExecutorRemoved
            || event instanceof SparkListenerBlockManagerAdded
            || event instanceof SparkListenerBlockManagerRemoved
            || type.equals(PROFILE_ADDED)
            || NodeFacts.isNodeEvent(type);
    return counts ? Lane.RESERVED : null;
  }

  void copy(SparkListenerEvent event) {
    if (event instanceof SparkListenerExecutorAdded) {
      reserved(ExecutorFacts.added((SparkListenerExecutorAdded) event));
    } else if (event instanceof SparkListenerExecutorRemoved) {
      reserved(ExecutorFacts.removed((SparkListenerExecutorRemoved) event));
    } else if (event instanceof SparkListenerBlockManagerAdded) {
      reserved(ExecutorFacts.storeAdded((SparkListenerBlockManagerAdded) event));
    } else if (event instanceof SparkListenerBlockManagerRemoved) {
      reserved(ExecutorFacts.storeRemoved((SparkListenerBlockManagerRemoved) event));
    } else {
      copyByName(event, event.getClass().getName());
    }
  }

  private void copyByName(SparkListenerEvent event, String type) {
    if (type.startsWith(SqlFacts.PREFIX)) {
      sql.copy(event);
    } else if (type.startsWith(StreamingFacts.PREFIX)) {
      StreamingFacts.copy(event, recorder);
    } else if (type.equals(PROFILE_ADDED)) {
      reserved(ProfileFacts.added(event, System.currentTimeMillis()));
    } else if (NodeFacts.isNodeEvent(type)) {
      reserved(nodes.of(event));
    }
  }

  private void reserved(Fact.Builder fact) {
    if (fact != null) {
      recorder.record(Lane.RESERVED, fact);
    }
  }
}
