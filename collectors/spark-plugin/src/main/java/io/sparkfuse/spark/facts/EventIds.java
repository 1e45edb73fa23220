package io.sparkfuse.spark.facts;

import com.google.protobuf.ByteString;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.FactOrBuilder;
import io.sparkfuse.contracts.NodeEvent;
import io.sparkfuse.contracts.PodChanged;
import io.sparkfuse.contracts.StreamingProgress;
import io.sparkfuse.contracts.TaskEnded;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * Computes event ids: the same event always has the same id, whichever collector reports it.
 *
 * <p>The id is the SHA-256, cut to 16 bytes, of this text in UTF-8, where {@code kind} is the
 * field's name in fact.proto:
 *
 * <pre>cluster|app_id|app_start_ms|app_attempt|kind|key</pre>
 *
 * <p>{@code key} identifies the event among those of its kind:
 *
 * <ul>
 *   <li>application_started, application_ended: empty
 *   <li>job_started, job_ended: {@code job_id}
 *   <li>sql_started, sql_ended: {@code sql_execution_id}
 *   <li>stage_started, stage_ended: {@code stage_id|stage_attempt}
 *   <li>task_started: {@code task_id}
 *   <li>task_ended: {@code task_id|outcome|failure_class|finished_ms}, because {@code Resubmitted}
 *       ends the same task a second time
 *   <li>task_progress: {@code task_id|event_time_ms}
 *   <li>executor_added: {@code executor_id|added_ms}
 *   <li>executor_removed: {@code executor_id|removed_ms}
 *   <li>executor_sample: {@code executor_id|event_time_ms}
 *   <li>collector_health: {@code collector|event_time_ms}
 *   <li>sql_plan: {@code sql_execution_id|plan_version}
 *   <li>sql_metrics: {@code sql_execution_id}
 *   <li>block_manager_added: {@code executor_id|added_ms}
 *   <li>block_manager_removed: {@code executor_id|removed_ms}
 *   <li>streaming_started, streaming_ended: {@code run_id}
 *   <li>streaming_progress: {@code run_id|batch_id|triggered_ms}
 *   <li>resource_profile_added: {@code profile_id}
 *   <li>node_event: {@code event|host|executor_id|stage_id|happened_ms}
 *   <li>pod_changed, which only the pod watcher sends: {@code executor_id|pod|cause|changed_ms}
 * </ul>
 *
 * <p>Absent fields of a streaming_progress or node_event are empty in the key.
 *
 * <p>Not thread-safe.
 */
public final class EventIds {
  static final int BYTES = 16;
  private final MessageDigest sha256;

  public EventIds() {
    try {
      sha256 = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) { // every JVM has SHA-256
      throw new IllegalStateException(impossible);
    }
  }

  /** Returns the id of a fact whose envelope and kind are set. */
  public ByteString of(FactOrBuilder fact) {
    byte[] digest = sha256.digest(key(fact).getBytes(StandardCharsets.UTF_8));
    return ByteString.copyFrom(digest, 0, BYTES);
  }

  static String key(FactOrBuilder fact) {
    return fact.getCluster()
        + '|'
        + fact.getAppId()
        + '|'
        + fact.getAppStartMs()
        + '|'
        + fact.getAppAttempt()
        + '|'
        + kind(fact.getKindCase())
        + '|'
        + own(fact);
  }

  private static String kind(Fact.KindCase kind) {
    return kind.name().toLowerCase(java.util.Locale.ROOT);
  }

  private static String own(FactOrBuilder fact) {
    switch (fact.getKindCase()) {
      case APPLICATION_STARTED:
      case APPLICATION_ENDED:
        return "";
      case JOB_STARTED:
        return "" + fact.getJobStarted().getJobId();
      case JOB_ENDED:
        return "" + fact.getJobEnded().getJobId();
      case STAGE_STARTED:
        return join(fact.getStageStarted().getStageId(), fact.getStageStarted().getStageAttempt());
      case STAGE_ENDED:
        return join(fact.getStageEnded().getStageId(), fact.getStageEnded().getStageAttempt());
      case TASK_STARTED:
        return "" + fact.getTaskStarted().getTaskId();
      case TASK_ENDED:
        return own(fact.getTaskEnded());
      case TASK_PROGRESS:
        return join(fact.getTaskProgress().getTaskId(), fact.getEventTimeMs());
      default:
        return ownOfFew(fact);
    }
  }

  private static String ownOfFew(FactOrBuilder fact) {
    switch (fact.getKindCase()) {
      case SQL_STARTED:
        return "" + fact.getSqlStarted().getSqlExecutionId();
      case SQL_ENDED:
        return "" + fact.getSqlEnded().getSqlExecutionId();
      case SQL_PLAN:
        return join(fact.getSqlPlan().getSqlExecutionId(), fact.getSqlPlan().getPlanVersion());
      case SQL_METRICS:
        return "" + fact.getSqlMetrics().getSqlExecutionId();
      case STREAMING_STARTED:
        return fact.getStreamingStarted().getRunId();
      case STREAMING_PROGRESS:
        return own(fact.getStreamingProgress());
      case STREAMING_ENDED:
        return fact.getStreamingEnded().getRunId();
      default:
        return ownOfExecutors(fact);
    }
  }

  private static String ownOfExecutors(FactOrBuilder fact) {
    switch (fact.getKindCase()) {
      case EXECUTOR_ADDED:
        return join(fact.getExecutorAdded().getExecutorId(), fact.getExecutorAdded().getAddedMs());
      case EXECUTOR_REMOVED:
        return join(
            fact.getExecutorRemoved().getExecutorId(), fact.getExecutorRemoved().getRemovedMs());
      case EXECUTOR_SAMPLE:
        return join(fact.getExecutorSample().getExecutorId(), fact.getEventTimeMs());
      case BLOCK_MANAGER_ADDED:
        return join(
            fact.getBlockManagerAdded().getExecutorId(), fact.getBlockManagerAdded().getAddedMs());
      case BLOCK_MANAGER_REMOVED:
        return join(
            fact.getBlockManagerRemoved().getExecutorId(),
            fact.getBlockManagerRemoved().getRemovedMs());
      case RESOURCE_PROFILE_ADDED:
        return "" + fact.getResourceProfileAdded().getProfileId();
      case NODE_EVENT:
        return own(fact.getNodeEvent());
      case POD_CHANGED:
        return own(fact.getPodChanged());
      default:
        return join(fact.getCollector(), fact.getEventTimeMs());
    }
  }

  private static String own(StreamingProgress batch) {
    Object number = batch.hasBatchId() ? batch.getBatchId() : "";
    return join(batch.getRunId(), number, batch.getTriggeredMs());
  }

  private static String own(NodeEvent node) {
    Object stage = node.hasStageId() ? node.getStageId() : "";
    return join(node.getEvent(), node.getHost(), node.getExecutorId(), stage, node.getHappenedMs());
  }

  private static String own(PodChanged pod) {
    return join(pod.getExecutorId(), pod.getPod(), pod.getCause(), pod.getChangedMs());
  }

  private static String own(TaskEnded task) {
    return join(task.getTaskId(), task.getOutcome(), task.getFailureClass(), task.getFinishedMs());
  }

  private static String join(Object... parts) {
    StringBuilder out = new StringBuilder();
    for (Object part : parts) {
      out.append(part).append('|');
    }
    return out.substring(0, out.length() - 1);
  }
}
