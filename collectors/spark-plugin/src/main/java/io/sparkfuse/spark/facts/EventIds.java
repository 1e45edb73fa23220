package io.sparkfuse.spark.facts;

import com.google.protobuf.ByteString;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.FactOrBuilder;
import io.sparkfuse.contracts.TaskEnded;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * Gives the same event the same id, whoever saw it and however often.
 *
 * <p>The id is the SHA-256, cut to 16 bytes, of this text in UTF-8, where {@code kind} is the
 * field's name in fact.proto:
 *
 * <pre>cluster|app_id|app_start_ms|app_attempt|kind|own</pre>
 *
 * <p>{@code own} is what makes the event one among those of its kind:
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
 * </ul>
 *
 * <p>Not for more than one thread at a time.
 */
public final class EventIds {
  static final int BYTES = 16;
  private final MessageDigest sha256;

  public EventIds() {
    try {
      sha256 = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) { // every JVM must have it
      throw new IllegalStateException(impossible);
    }
  }

  /** The id of a fact whose envelope and kind are set. */
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
      case SQL_STARTED:
        return "" + fact.getSqlStarted().getSqlExecutionId();
      case SQL_ENDED:
        return "" + fact.getSqlEnded().getSqlExecutionId();
      case STAGE_STARTED:
        return fact.getStageStarted().getStageId() + "|" + fact.getStageStarted().getStageAttempt();
      case STAGE_ENDED:
        return fact.getStageEnded().getStageId() + "|" + fact.getStageEnded().getStageAttempt();
      case TASK_STARTED:
        return "" + fact.getTaskStarted().getTaskId();
      case TASK_ENDED:
        return own(fact.getTaskEnded());
      case TASK_PROGRESS:
        return fact.getTaskProgress().getTaskId() + "|" + fact.getEventTimeMs();
      case EXECUTOR_ADDED:
        return fact.getExecutorAdded().getExecutorId() + "|" + fact.getExecutorAdded().getAddedMs();
      case EXECUTOR_REMOVED:
        return fact.getExecutorRemoved().getExecutorId()
            + "|"
            + fact.getExecutorRemoved().getRemovedMs();
      case EXECUTOR_SAMPLE:
        return fact.getExecutorSample().getExecutorId() + "|" + fact.getEventTimeMs();
      default:
        return fact.getCollector() + "|" + fact.getEventTimeMs();
    }
  }

  private static String own(TaskEnded task) {
    return task.getTaskId()
        + "|"
        + task.getOutcome()
        + "|"
        + task.getFailureClass()
        + "|"
        + task.getFinishedMs();
  }
}
