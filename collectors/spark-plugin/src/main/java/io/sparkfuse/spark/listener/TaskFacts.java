package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.TaskStarted;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.TaskInfo;

/** Copies Spark's events about the start and end of tasks. */
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
            .setLocality(String.valueOf(task.taskLocality()))
            .setFinishedMs(task.finishTime())
            .setDurationMs(Math.max(0, task.finishTime() - task.launchTime()));
    if (task.gettingResultTime() > 0) {
      fact.setGettingResultMs(Math.max(0, task.finishTime() - task.gettingResultTime()));
    }
    TaskOutcome.copy(event.reason(), fact);
    TaskMetrics metrics = event.taskMetrics();
    fact.setHasMetrics(metrics != null);
    if (metrics != null) {
      TaskCounters.copy(metrics, fact);
    }
    return fact.build();
  }

  /**
   * Returns the partition id. Spark's index counts the tasks of one attempt, while a partition
   * keeps its id in all attempts.
   */
  private static int index(TaskInfo task) {
    return task.partitionId() >= 0 ? task.partitionId() : task.index();
  }
}
