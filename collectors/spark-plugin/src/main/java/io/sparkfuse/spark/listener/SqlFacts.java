package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.SqlEnded;
import io.sparkfuse.contracts.SqlStarted;
import io.sparkfuse.spark.facts.SecretScrubber;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * Copies what Spark SQL says of an execution, by reflection: the jar is built without Spark SQL.
 */
final class SqlFacts {
  private static final String UI = "org.apache.spark.sql.execution.ui.";
  private static final String START = UI + "SparkListenerSQLExecutionStart";
  private static final String END = UI + "SparkListenerSQLExecutionEnd";

  /** Beyond this a plan says no more of which job it is. */
  private static final int MOST_NODES = 256;

  private static final int MOST_DEPTH = 200;

  private SqlFacts() {}

  /** The fact that an event of Spark SQL is, or null for any other event. */
  static Fact.Builder of(SparkListenerEvent event) {
    String type = event.getClass().getName();
    if (type.equals(START)) {
      SqlStarted started = started(event);
      return Fact.newBuilder().setEventTimeMs(started.getStartedMs()).setSqlStarted(started);
    }
    if (type.equals(END)) {
      SqlEnded ended = ended(event);
      return Fact.newBuilder().setEventTimeMs(ended.getEndedMs()).setSqlEnded(ended);
    }
    return null;
  }

  private static SqlStarted started(SparkListenerEvent event) {
    List<String> nodes = new ArrayList<>();
    collect(ScalaAccess.get(event, "sparkPlanInfo"), nodes, 0);
    return SqlStarted.newBuilder()
        .setSqlExecutionId(ScalaAccess.number(ScalaAccess.get(event, "executionId"), -1))
        .setStartedMs(time(event))
        .setDescription(SecretScrubber.cut(String.valueOf(ScalaAccess.get(event, "description"))))
        .addAllPlanNodes(nodes)
        .build();
  }

  private static SqlEnded ended(SparkListenerEvent event) {
    SqlEnded.Builder fact =
        SqlEnded.newBuilder()
            .setSqlExecutionId(ScalaAccess.number(ScalaAccess.get(event, "executionId"), -1))
            .setEndedMs(time(event));
    Object failure = ScalaAccess.option(ScalaAccess.get(event, "errorMessage"));
    // Spark says Some("") of an execution that ended well.
    if (failure != null && !failure.toString().isEmpty()) {
      fact.setFailureReason(SecretScrubber.cut(failure.toString()));
    }
    return fact.build();
  }

  private static long time(SparkListenerEvent event) {
    return ScalaAccess.number(ScalaAccess.get(event, "time"), System.currentTimeMillis());
  }

  private static void collect(Object node, List<String> names, int depth) {
    if (node == null || names.size() >= MOST_NODES || depth > MOST_DEPTH) {
      return;
    }
    names.add(String.valueOf(ScalaAccess.get(node, "nodeName")));
    for (Object child : ScalaAccess.list(ScalaAccess.get(node, "children"), MOST_NODES)) {
      collect(child, names, depth + 1);
    }
  }
}
