package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.counters.StageRegistry;
import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.PluginLog;
import java.util.Collection;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.apache.spark.SparkContext;

/** Carries out the action of a signal with Spark's API, and shows the reason to the owner. */
final class SignalActions {
  /** Time in ms for Spark to end a cancelled job, before its tasks are interrupted. */
  private static final long CANCEL_MS = 1_000;

  private final SparkContext context;
  private final StageRegistry registry;

  SignalActions(SparkContext context, StageRegistry registry) {
    this.context = context;
    this.registry = registry;
  }

  SignalResult act(Signal signal) {
    String reason = ReasonText.of(signal);
    switch (signal.getAction()) {
      case "warn":
        warn(reason);
        return new SignalResult("acted", "the owner was warned");
      case "cancel_stage":
        return cancelStage(signal.getStageId(), reason);
      case "cancel_jobs":
        return cancelJobs(reason);
      case "stop_application":
        warn(reason);
        return new SignalResult("acted", "the application is being stopped");
      default:
        return SignalResult.refused("there is no action " + signal.getAction());
    }
  }

  /** Stops the context on a new thread, because stopping it also stops the hook. */
  void stopApplication(FaultCounter faults) {
    DaemonThreads.of("stop", faults, context::stop).start();
  }

  void warn(String reason) {
    PluginLog.warn(reason);
    // sc.stop() carries no reason, and the log may be switched off.
    System.err.println(reason);
  }

  private SignalResult cancelStage(int stageId, String reason) {
    PluginLog.warn(reason);
    List<Integer> jobs = registry.jobsOf(stageId);
    context.cancelStage(stageId, reason);
    await(() -> registry.jobsOf(stageId).isEmpty());
    int killed = kill(registry.runningTasks(stageId), reason);
    return new SignalResult(
        "acted", "stage " + stageId + " of jobs " + jobs + " cancelled", killed);
  }

  private SignalResult cancelJobs(String reason) {
    PluginLog.warn(reason);
    List<Integer> jobs = registry.runningJobs();
    for (int job : jobs) {
      context.cancelJob(job, reason);
    }
    await(() -> registry.runningJobs().stream().noneMatch(jobs::contains));
    int killed = kill(registry.runningTasks(), reason);
    return new SignalResult("acted", "jobs " + jobs + " cancelled", killed);
  }

  /**
   * Interrupts tasks. Spark does not interrupt tasks of a cancelled job, so sleeping and Python
   * tasks would keep their slots for tens of seconds.
   */
  private int kill(Collection<Long> tasks, String reason) {
    int killed = 0;
    for (long task : tasks) {
      if (context.killTaskAttempt(task, true, reason)) {
        killed++;
      }
    }
    return killed;
  }

  private static void await(BooleanSupplier done) {
    long startNs = System.nanoTime();
    try {
      while (!done.getAsBoolean() && (System.nanoTime() - startNs) / 1_000_000 < CANCEL_MS) {
        Thread.sleep(20);
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }
}
