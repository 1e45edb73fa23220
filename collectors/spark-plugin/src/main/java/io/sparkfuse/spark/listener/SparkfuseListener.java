package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.ApplicationEnded;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.TaskStarted;
import io.sparkfuse.spark.counters.StageRegistry;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.safety.FaultCounter;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkFirehoseListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerApplicationStart;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;

/**
 * Receives all events of the driver on a listener queue of its own, copies their contents and
 * returns. No error leaves this class.
 *
 * <p>All callbacks enter through one method that catches Throwable, because an Error that leaves a
 * listener stops the user's SparkContext.
 */
public final class SparkfuseListener extends SparkFirehoseListener {
  /** Name of the listener queue. */
  public static final String QUEUE = "sparkfuse";

  private final SparkConf conf;
  private final FactRecorder recorder;
  private final StageRegistry registry;
  private final StageDepths depths = new StageDepths();
  private final EventFilter gate;
  private final FaultCounter faults;
  private final String pluginVersion;
  private final CallbackTimes times = new CallbackTimes();
  private final SqlRegistry sqlBook = new SqlRegistry();
  private final InfrequentEvents rareEvents;

  /**
   * Creates a listener; {@code pluginVersion} is part of the first fact, and {@code registry} is
   * updated with each event.
   */
  public SparkfuseListener(
      SparkConf conf,
      FactRecorder recorder,
      StageRegistry registry,
      EventFilter gate,
      FaultCounter faults,
      String pluginVersion) {
    this.conf = conf;
    this.recorder = recorder;
    this.registry = registry;
    this.gate = gate;
    this.faults = faults;
    this.pluginVersion = pluginVersion;
    this.rareEvents = new InfrequentEvents(recorder, new SqlFacts(sqlBook, recorder));
  }

  @Override
  public void onEvent(SparkListenerEvent event) {
    boolean interruptedBefore = Thread.currentThread().isInterrupted();
    try {
      times.begin();
      if (gate.passes(event, faults.on())) {
        copy(event);
      }
    } catch (Throwable fault) {
      faults.caught(fault);
      lost(event);
    }
    end(interruptedBefore);
  }

  private void end(boolean interruptedBefore) {
    try {
      if (!interruptedBefore) {
        // Spark silently removes a listener that leaves its thread interrupted.
        Thread.interrupted();
      }
      times.end();
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }

  /**
   * Uses up a sequence number, because a fault probably lost the event's fact. If the fact was
   * already queued, this is one number too many.
   */
  private void lost(SparkListenerEvent event) {
    try {
      gate.skip(event);
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }

  /** Returns the times of the callbacks. */
  public CallbackTimes times() {
    return times;
  }

  /** Returns the number of queries that were forgotten before they ended. */
  public long forgottenExecutions() {
    return sqlBook.forgotten();
  }

  private void copy(SparkListenerEvent event) {
    if (event instanceof SparkListenerTaskEnd) {
      taskEnded((SparkListenerTaskEnd) event);
    } else if (event instanceof SparkListenerTaskStart) {
      taskStarted((SparkListenerTaskStart) event);
    } else if (event instanceof SparkListenerStageSubmitted) {
      stageStarted((SparkListenerStageSubmitted) event);
    } else if (event instanceof SparkListenerStageCompleted) {
      stageEnded((SparkListenerStageCompleted) event);
    } else if (event instanceof SparkListenerJobStart) {
      jobStarted((SparkListenerJobStart) event);
    } else if (event instanceof SparkListenerJobEnd) {
      jobEnded((SparkListenerJobEnd) event);
    } else if (event instanceof SparkListenerApplicationStart) {
      applicationStarted((SparkListenerApplicationStart) event);
    } else if (event instanceof SparkListenerApplicationEnd) {
      applicationEnded((SparkListenerApplicationEnd) event);
    } else {
      countExecutors(event);
      rareEvents.copy(event);
    }
  }

  private void countExecutors(SparkListenerEvent event) {
    if (event instanceof SparkListenerExecutorAdded) {
      SparkListenerExecutorAdded added = (SparkListenerExecutorAdded) event;
      registry.executorAdded(added.executorId(), added.executorInfo().totalCores());
    } else if (event instanceof SparkListenerExecutorRemoved) {
      SparkListenerExecutorRemoved removed = (SparkListenerExecutorRemoved) event;
      registry.executorRemoved(removed.executorId(), String.valueOf(removed.reason()));
    }
  }

  private void taskStarted(SparkListenerTaskStart event) {
    TaskStarted task = TaskFacts.started(event);
    registry.taskStarted(task);
    recorder.record(Lane.BULK, at(task.getLaunchedMs()).setTaskStarted(task));
  }

  private void taskEnded(SparkListenerTaskEnd event) {
    TaskEnded task = TaskFacts.ended(event);
    registry.taskEnded(task);
    recorder.record(Lane.RESERVED, at(task.getFinishedMs()).setTaskEnded(task));
  }

  private void stageStarted(SparkListenerStageSubmitted event) {
    Integer firstJob = registry.firstJob(event.stageInfo().stageId());
    Integer depth = depths.of(event.stageInfo().stageId());
    StageStarted stage = StageFacts.started(event.stageInfo(), event.properties(), firstJob, depth);
    registry.stageStarted(stage);
    Long execution = stage.hasSqlExecutionId() ? stage.getSqlExecutionId() : null;
    sqlBook.stageStarted(stage.getStageId(), stage.getStageAttempt(), execution);
    recorder.record(Lane.RESERVED, at(stage.getSubmittedMs()).setStageStarted(stage));
  }

  private void stageEnded(SparkListenerStageCompleted event) {
    StageEnded stage = StageFacts.ended(event.stageInfo());
    registry.stageEnded(stage);
    sqlBook.stageEnded(event.stageInfo());
    recorder.record(Lane.RESERVED, at(stage.getCompletedMs()).setStageEnded(stage));
  }

  private void jobStarted(SparkListenerJobStart event) {
    JobStarted job = JobFacts.started(event);
    registry.jobStarted(job, JobFacts.isStreaming(event));
    depths.jobStarted(event);
    recorder.record(Lane.RESERVED, at(job.getSubmittedMs()).setJobStarted(job));
  }

  private void jobEnded(SparkListenerJobEnd event) {
    JobEnded job = JobFacts.ended(event);
    registry.jobEnded(job);
    recorder.record(Lane.RESERVED, at(job.getCompletedMs()).setJobEnded(job));
  }

  private void applicationStarted(SparkListenerApplicationStart event) {
    String spark = org.apache.spark.package$.MODULE$.SPARK_VERSION();
    recorder.record(
        Lane.RESERVED,
        at(event.time())
            .setApplicationStarted(
                ApplicationFacts.started(
                    conf, event.appName(), event.sparkUser(), spark, pluginVersion)));
  }

  private void applicationEnded(SparkListenerApplicationEnd event) {
    ApplicationEnded.Builder application =
        ApplicationEnded.newBuilder()
            .setEndedMs(event.time())
            .setSucceededJobs(registry.succeededJobs())
            .setFailedJobs(registry.failedJobs());
    recorder.record(Lane.RESERVED, at(event.time()).setApplicationEnded(application));
  }

  private static Fact.Builder at(long eventTimeMs) {
    return Fact.newBuilder().setEventTimeMs(eventTimeMs);
  }
}
