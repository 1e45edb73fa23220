package io.sparkfuse.spark.blocks;

import io.sparkfuse.spark.safety.FaultCounter;
import org.apache.spark.SparkFirehoseListener;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;

/** Counts the jobs, stages and tasks of blocks. This class passes no error on to Spark. */
final class BlockListener extends SparkFirehoseListener {
  private final Blocks blocks;
  private final FaultCounter faults;

  BlockListener(Blocks blocks, FaultCounter faults) {
    this.blocks = blocks;
    this.faults = faults;
  }

  @Override
  public void onEvent(SparkListenerEvent event) {
    try {
      count(event);
    } catch (Throwable fault) { // an Error that leaves a listener stops the SparkContext
      faults.caught(fault);
    }
  }

  private void count(SparkListenerEvent event) {
    if (event instanceof SparkListenerJobStart) {
      SparkListenerJobStart job = (SparkListenerJobStart) event;
      blocks.jobStarted(job.jobId(), BlockTag.of(job.properties()));
    } else if (!blocks.any()) {
      return;
    } else if (event instanceof SparkListenerJobEnd) {
      blocks.jobEnded(((SparkListenerJobEnd) event).jobId());
    } else if (event instanceof SparkListenerStageSubmitted) {
      SparkListenerStageSubmitted stage = (SparkListenerStageSubmitted) event;
      blocks.stageStarted(
          stage.stageInfo().stageId(),
          stage.stageInfo().attemptNumber(),
          BlockTag.of(stage.properties()));
    } else if (event instanceof SparkListenerTaskStart) {
      SparkListenerTaskStart task = (SparkListenerTaskStart) event;
      blocks.taskStarted(task.stageId(), task.stageAttemptId(), task.taskInfo().taskId());
    } else if (event instanceof SparkListenerTaskEnd) {
      taskEnded((SparkListenerTaskEnd) event);
    }
  }

  private void taskEnded(SparkListenerTaskEnd event) {
    TaskMetrics metrics = event.taskMetrics(); // there are no metrics if the executor was lost
    blocks.taskEnded(
        event.stageId(),
        event.stageAttemptId(),
        event.taskInfo().taskId(),
        event.taskInfo().finishTime() - event.taskInfo().launchTime(),
        metrics == null ? 0 : metrics.diskBytesSpilled(),
        metrics == null ? 0 : metrics.outputMetrics().recordsWritten());
  }
}
