package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.sparkfuse.contracts.TaskEnded;
import java.util.stream.Stream;
import org.apache.spark.ExceptionFailure;
import org.apache.spark.ExecutorLostFailure;
import org.apache.spark.FetchFailed;
import org.apache.spark.Resubmitted$;
import org.apache.spark.Success$;
import org.apache.spark.TaskCommitDenied;
import org.apache.spark.TaskEndReason;
import org.apache.spark.TaskKilled;
import org.apache.spark.TaskResultLost$;
import org.apache.spark.UnknownReason$;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import scala.Option;
import scala.collection.mutable.ArrayBuffer;

/** Tests each way in which a task can end, with Spark's own classes. */
class TaskOutcomeTest {
  private static final BlockManagerId LOST = BlockManagerId.apply("3", "w3", 7337, Option.empty());

  private static TaskEnded outcome(TaskEndReason reason) {
    TaskEnded.Builder fact = TaskEnded.newBuilder();
    TaskOutcome.copy(reason, fact);
    return fact.build();
  }

  private static ExceptionFailure exception(String description) {
    return new ExceptionFailure(
        "java.lang.IllegalStateException",
        description,
        new StackTraceElement[0],
        "stack",
        Option.empty(),
        new ArrayBuffer<>(),
        new ArrayBuffer<>(),
        new ArrayBuffer<>());
  }

  private static TaskKilled killed(String reason) {
    return new TaskKilled(reason, new ArrayBuffer<>(), new ArrayBuffer<>(), new ArrayBuffer<>());
  }

  static Stream<Arguments> failures() {
    return Stream.of(
        arguments(exception("no"), "failed", "java.lang.IllegalStateException", "no"),
        arguments(
            killed("another attempt succeeded"),
            "killed",
            "TaskKilled",
            "another attempt succeeded"),
        arguments(
            new FetchFailed(LOST, 2, 14L, 14, 5, "refused"), "failed", "FetchFailed", "refused"),
        arguments(
            new ExecutorLostFailure("1", true, Option.apply("worker lost")),
            "failed",
            "ExecutorLostFailure",
            "worker lost"),
        arguments(
            new TaskCommitDenied(1, 2, 3),
            "failed",
            "TaskCommitDenied",
            "TaskCommitDenied (Driver denied task commit) for job: 1, partition: 2, attemptNumber: 3"),
        arguments(
            Resubmitted$.MODULE$,
            "failed",
            "Resubmitted",
            "Resubmitted (resubmitted due to lost executor)"),
        arguments(
            TaskResultLost$.MODULE$,
            "failed",
            "TaskResultLost",
            "TaskResultLost (result lost from block manager)"),
        arguments(UnknownReason$.MODULE$, "failed", "UnknownReason", "UnknownReason"));
  }

  @ParameterizedTest
  @MethodSource("failures")
  void eachEndReasonHasOutcomeClassAndText(
      TaskEndReason reason, String outcome, String failureClass, String text) {
    TaskEnded fact = outcome(reason);

    assertEquals(outcome, fact.getOutcome());
    assertEquals(failureClass, fact.getFailureClass());
    assertEquals(text, fact.getFailureReason());
  }

  @Test
  void successHasNoReason() {
    TaskEnded fact = outcome(Success$.MODULE$);

    assertEquals("success", fact.getOutcome());
    assertFalse(fact.hasFailureClass() || fact.hasFailureReason() || fact.hasExitCausedByApp());
  }

  @Test
  void fetchFailureNamesItsSource() {
    TaskEnded fact = outcome(new FetchFailed(LOST, 2, 14L, 14, 5, "refused"));

    assertEquals("w3", fact.getFetchFailedHost());
    assertEquals("3", fact.getFetchFailedExecutorId());
    assertEquals(2, fact.getFetchFailedShuffleId());
    assertFalse(outcome(new FetchFailed(null, 2, 14L, 14, 5, "no output")).hasFetchFailedHost());
  }

  @Test
  void executorLossHasExitCodeAndCause() {
    TaskEnded fact =
        outcome(new ExecutorLostFailure("1", false, Option.apply("Exit status: 143. Diagnostics")));

    assertEquals(143, fact.getExitCode());
    assertTrue(fact.hasExitCausedByApp());
    assertFalse(fact.getExitCausedByApp());
    assertFalse(outcome(new ExecutorLostFailure("1", true, Option.empty())).hasFailureReason());
  }

  @Test
  void exceptionWithoutMessageHasNoReason() {
    assertFalse(outcome(exception(null)).hasFailureReason());
  }
}
