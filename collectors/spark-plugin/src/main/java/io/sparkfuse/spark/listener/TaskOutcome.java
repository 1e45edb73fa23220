package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.spark.facts.SecretScrubber;
import org.apache.spark.ExceptionFailure;
import org.apache.spark.ExecutorLostFailure;
import org.apache.spark.FetchFailed;
import org.apache.spark.Success$;
import org.apache.spark.TaskEndReason;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.TaskKilled;
import org.apache.spark.storage.BlockManagerId;

/**
 * Copies the outcome of a task.
 *
 * <p>Class and reason are the texts that Spark writes to an event log, so that the plugin and an
 * event log give the same fact. For reasons without a text in the log (commit denied, resubmitted,
 * result lost, unknown) the reason is Spark's error message.
 */
final class TaskOutcome {
  private static final int MAX_CLASS_CHARS = 512;

  private TaskOutcome() {}

  static void copy(TaskEndReason reason, TaskEnded.Builder fact) {
    if (reason == Success$.MODULE$) {
      fact.setOutcome("success");
      return;
    }
    fact.setOutcome(reason instanceof TaskKilled ? "killed" : "failed");
    fact.setFailureClass(reason.getClass().getSimpleName().replace("$", ""));
    if (reason instanceof ExceptionFailure) {
      ExceptionFailure failure = (ExceptionFailure) reason;
      fact.setFailureClass(cut(failure.className(), MAX_CLASS_CHARS));
      setReason(fact, failure.description());
    } else if (reason instanceof TaskKilled) {
      setReason(fact, ((TaskKilled) reason).reason());
    } else if (reason instanceof FetchFailed) {
      fetchFailed((FetchFailed) reason, fact);
    } else if (reason instanceof ExecutorLostFailure) {
      executorLost((ExecutorLostFailure) reason, fact);
    } else if (reason instanceof TaskFailedReason) {
      setReason(fact, ((TaskFailedReason) reason).toErrorString());
    }
  }

  private static void fetchFailed(FetchFailed failure, TaskEnded.Builder fact) {
    setReason(fact, failure.message());
    fact.setFetchFailedShuffleId(failure.shuffleId());
    BlockManagerId from = failure.bmAddress();
    if (from != null) { // there is none if the map output was missing
      fact.setFetchFailedHost(from.host()).setFetchFailedExecutorId(from.executorId());
    }
  }

  private static void executorLost(ExecutorLostFailure failure, TaskEnded.Builder fact) {
    fact.setExitCausedByApp(failure.exitCausedByApp());
    Object reason = ScalaAccess.option(failure.reason());
    if (reason != null) {
      setReason(fact, reason.toString());
      Integer code = ExitCodes.in(reason.toString());
      if (code != null) {
        fact.setExitCode(code);
      }
    }
  }

  private static void setReason(TaskEnded.Builder fact, String reason) {
    if (reason != null) {
      fact.setFailureReason(SecretScrubber.cut(reason));
    }
  }

  private static String cut(String text, int most) {
    String known = text == null ? "" : text;
    return known.length() > most ? known.substring(0, most) : known;
  }
}
