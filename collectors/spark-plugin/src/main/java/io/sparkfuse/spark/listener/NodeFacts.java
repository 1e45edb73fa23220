package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.NodeEvent;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * Copies events that exclude an executor or node, or include it again; supports the event names of
 * all Spark versions.
 *
 * <p>Spark posts some events twice, under the old name (blacklisted) and the new one (excluded);
 * the second event is ignored. Used by the listener's thread only.
 */
final class NodeFacts {
  private static final String PREFIX = "org.apache.spark.scheduler.SparkListener";
  private static final int MAX_REMEMBERED = 128;

  private final Set<NodeEvent> reported =
      Collections.newSetFromMap(
          new LinkedHashMap<NodeEvent, Boolean>() {
            @Override
            protected boolean removeEldestEntry(Map.Entry<NodeEvent, Boolean> eldest) {
              return size() > MAX_REMEMBERED;
            }
          });

  /** Returns whether a class name belongs to an exclusion event. */
  static boolean isNodeEvent(String type) {
    if (!type.startsWith(PREFIX + "Node") && !type.startsWith(PREFIX + "Executor")) {
      return false;
    }
    String word = type.endsWith("ForStage") ? type.substring(0, type.length() - 8) : type;
    return word.endsWith("xcluded") || word.endsWith("lacklisted");
  }

  /** Returns the fact, or null if the same event was already reported under its other name. */
  Fact.Builder of(SparkListenerEvent event) {
    String type = event.getClass().getName();
    boolean back = type.contains("Unexcluded") || type.contains("Unblacklisted");
    long happenedMs = ScalaAccess.number(event, "time", System.currentTimeMillis());
    NodeEvent.Builder fact =
        NodeEvent.newBuilder().setEvent(back ? "taken back" : "excluded").setHappenedMs(happenedMs);
    String host = ScalaAccess.text(event, "hostId");
    if (host != null) {
      fact.setHost(host);
    }
    String executor = ScalaAccess.text(event, "executorId");
    if (executor != null) {
      fact.setExecutorId(executor);
    }
    long stage = ScalaAccess.number(event, "stageId", -1);
    if (stage >= 0) {
      fact.setStageId((int) stage);
    }
    long failures = ScalaAccess.number(event, "taskFailures", -1);
    if (failures >= 0) {
      fact.setTaskFailures((int) failures);
    }
    NodeEvent nodeEvent = fact.build();
    return reported.add(nodeEvent)
        ? Fact.newBuilder().setEventTimeMs(happenedMs).setNodeEvent(nodeEvent)
        : null;
  }
}
