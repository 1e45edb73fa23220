package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.TaskStarted;
import io.sparkfuse.spark.facts.SecretScrubber;
import org.apache.spark.ExceptionFailure;
import org.apache.spark.Success$;
import org.apache.spark.TaskEndReason;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.TaskKilled;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.TaskInfo;

/** Copies what Spark says of a task's start and end. */
final class TaskFacts {
  private TaskFacts() {}

  static TaskStarted started(SparkListenerTaskStart event) {
    TaskInfo task = event.taskInfo();
    return TaskStarted.newBuilder()
        .setStageId(event.stageId())
        .setStageAttempt(event.stageAttemptId())
        .setTaskId(task.taskId())
        .setTaskIndex(index(task))
        .setTaskAttempt(task.attemptNumber())
        .setExecutorId(task.executorId())
        .setHost(task.host())
        .setSpeculative(task.speculative())
        .setLaunchedMs(task.launchTime())
        .setLocality(String.valueOf(task.taskLocality()))
        .build();
  }

  static TaskEnded ended(SparkListenerTaskEnd event) {
    TaskInfo task = event.taskInfo();
    TaskEnded.Builder fact =
        TaskEnded.newBuilder()
            .setStageId(event.stageId())
            .setStageAttempt(event.stageAttemptId())
            .setTaskId(task.taskId())
            .setTaskIndex(index(task))
            .setTaskAttempt(task.attemptNumber())
            .setExecutorId(task.executorId())
            .setHost(task.host())
            .setSpeculative(task.speculative())
            .setLaunchedMs(task.launchTime())
            .setFinishedMs(task.finishTime())
            .setDurationMs(Math.max(0, task.finishTime() - task.launchTime()));
    outcome(fact, event.reason());
    TaskMetrics metrics = event.taskMetrics();
    fact.setHasMetrics(metrics != null);
    if (metrics != null) {
      metrics(fact, metrics);
    }
    return fact.build();
  }

  /** Spark's index counts the tasks of an attempt; a partition keeps its number in all attempts. */
  private static int index(TaskInfo task) {
    return task.partitionId() >= 0 ? task.partitionId() : task.index();
  }

  private static void outcome(TaskEnded.Builder fact, TaskEndReason reason) {
    if (reason == Success$.MODULE$) {
      fact.setOutcome("success");
      return;
    }
    fact.setOutcome(reason instanceof TaskKilled ? "killed" : "failed");
    if (reason instanceof ExceptionFailure) {
      ExceptionFailure failure = (ExceptionFailure) reason;
      fact.setFailureClass(failure.className());
      fact.setFailureReason(text(failure.description()));
    } else {
      fact.setFailureClass(reason.getClass().getSimpleName().replace("$", ""));
      if (reason instanceof TaskFailedReason) {
        fact.setFailureReason(text(((TaskFailedReason) reason).toErrorString()));
      }
    }
  }

  private static String text(String reason) {
    return reason == null ? "" : SecretScrubber.cut(reason);
  }

  private static void metrics(TaskEnded.Builder fact, TaskMetrics metrics) {
    fact.setRunMs(metrics.executorRunTime())
        .setCpuNs(metrics.executorCpuTime())
        .setGcMs(metrics.jvmGCTime())
        .setDeserializeMs(metrics.executorDeserializeTime())
        .setResultBytes(metrics.resultSize())
        .setPeakExecutionMemoryBytes(metrics.peakExecutionMemory())
        .setMemorySpilledBytes(metrics.memoryBytesSpilled())
        .setDiskSpilledBytes(metrics.diskBytesSpilled())
        .setInputBytes(metrics.inputMetrics().bytesRead())
        .setInputRecords(metrics.inputMetrics().recordsRead())
        .setOutputBytes(metrics.outputMetrics().bytesWritten())
        .setOutputRecords(metrics.outputMetrics().recordsWritten())
        .setShuffleReadBytes(metrics.shuffleReadMetrics().totalBytesRead())
        .setShuffleReadRecords(metrics.shuffleReadMetrics().recordsRead())
        .setFetchWaitMs(metrics.shuffleReadMetrics().fetchWaitTime())
        .setShuffleWriteBytes(metrics.shuffleWriteMetrics().bytesWritten())
        .setShuffleWriteRecords(metrics.shuffleWriteMetrics().recordsWritten());
  }
}
