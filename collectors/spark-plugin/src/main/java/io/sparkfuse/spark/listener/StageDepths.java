package io.sparkfuse.spark.listener;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;

/**
 * Computes the depth of stages: the length of the longest chain of stages that a stage reads from.
 * The chain includes skipped stages, which only the job's start event contains. Used by one thread;
 * the oldest entries beyond a limit are forgotten.
 */
final class StageDepths {
  static final int MAX = 20_000;

  private final Map<Integer, Integer> depths =
      new LinkedHashMap<Integer, Integer>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, Integer> eldest) {
          return size() > MAX;
        }
      };

  void jobStarted(SparkListenerJobStart event) {
    TreeMap<Integer, StageInfo> stages = new TreeMap<>();
    for (Object stage :
        ScalaAccess.list(ScalaAccess.get(event, "stageInfos"), JobFacts.MAX_STAGES)) {
      stages.put(((StageInfo) stage).stageId(), (StageInfo) stage);
    }
    // Spark gives parents lower ids than their children, so a parent's depth is known first.
    Map<Integer, Integer> found = new LinkedHashMap<>();
    stages.forEach((id, stage) -> found.put(id, depth(stage, found)));
    depths.putAll(found);
  }

  private static int depth(StageInfo stage, Map<Integer, Integer> known) {
    int depth = 0;
    for (Integer parent : StageFacts.parents(stage)) {
      if (known.containsKey(parent)) {
        depth = Math.max(depth, known.get(parent) + 1);
      }
    }
    return depth;
  }

  /**
   * Returns the depth of a stage, or null if the start of its job was not received or was
   * forgotten.
   */
  Integer of(int stageId) {
    return depths.get(stageId);
  }
}
