package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.NodeEvent;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * Copies that Spark took an executor or a node out of use, or back, under the names of all
 * versions.
 *
 * <p>Spark posts some of these under the old name (blacklisted) and under the new one (excluded),
 * so one that was just told is not told again. Used by the listener's thread only.
 */
final class NodeFacts {
  private static final String PREFIX = "org.apache.spark.scheduler.SparkListener";
  private static final int MAX_REMEMBERED = 128;

  private final Set<NodeEvent> told =
      Collections.newSetFromMap(
          new LinkedHashMap<NodeEvent, Boolean>() {
            @Override
            protected boolean removeEldestEntry(Map.Entry<NodeEvent, Boolean> eldest) {
              return size() > MAX_REMEMBERED;
            }
          });

  /** Whether an event of this class is one of them. */
  static boolean knows(String type) {
    if (!type.startsWith(PREFIX + "Node") && !type.startsWith(PREFIX + "Executor")) {
      return false;
    }
    String word = type.endsWith("ForStage") ? type.substring(0, type.length() - 8) : type;
    return word.endsWith("xcluded") || word.endsWith("lacklisted");
  }

  /** The fact, or null when it was just told under another name. */
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
    NodeEvent made = fact.build();
    return told.add(made) ? Fact.newBuilder().setEventTimeMs(happenedMs).setNodeEvent(made) : null;
  }
}
