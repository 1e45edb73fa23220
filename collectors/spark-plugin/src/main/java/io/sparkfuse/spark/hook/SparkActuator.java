package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.blocks.BlockLimits;
import io.sparkfuse.spark.counters.StageRegistry;
import io.sparkfuse.spark.listener.StreamingQueries;
import io.sparkfuse.spark.safety.CollectorProtection;
import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.PluginLog;
import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.apache.spark.SparkContext;

/**
 * Stops work with Spark's API, shows the reason to the owner, and uses the events that arrive
 * afterwards to report what ended.
 */
final class SparkActuator implements Actuator {
  /** Time in ms between a cancellation and the interruption of tasks that still run. */
  private static final long CANCEL_MS = 1_000;

  /** Time in ms after an act; tasks that still run after this time count as not freed. */
  private static final long WAIT_MS = 10_000;

  private static final long POLL_MS = 20;

  private final SparkContext context;
  private final StageRegistry registry;
  private final StreamingQueries streaming;
  private final CollectorProtection collector;
  private final BlockLimits limits;
  private final Clock clock;
  private final FaultCounter faults;

  SparkActuator(
      SparkContext context,
      StageRegistry registry,
      StreamingQueries streaming,
      CollectorProtection collector,
      BlockLimits limits,
      Clock clock,
      FaultCounter faults) {
    this.context = context;
    this.registry = registry;
    this.streaming = streaming;
    this.collector = collector;
    this.limits = limits;
    this.clock = clock;
    this.faults = faults;
  }

  @Override
  public void warn(String text) {
    PluginLog.warn(text);
    // The text is also printed, because the log may be switched off.
    System.err.println(text);
  }

  @Override
  public void switchCollector(boolean off) {
    collector.setOff("a signal", off);
  }

  @Override
  public long awaitSafePoint(Signal signal) throws InterruptedException {
    return limits == null ? 0 : limits.awaitSafePoint(jobs(signal));
  }

  @Override
  public Set<String> blocks(Signal signal) {
    return limits == null ? Collections.emptySet() : limits.of(jobs(signal));
  }

  private Set<Integer> jobs(Signal signal) {
    switch (signal.getAction()) {
      case Actions.KILL_TASK:
      case Actions.CANCEL_STAGE:
        return registry.jobsOf(signal.getStageId());
      case Actions.CANCEL_QUERY:
        return DriverCounters.queryJobs(registry, signal);
      default:
        return registry.runningJobs();
    }
  }

  @Override
  public ActResult act(Signal signal, String reason) throws Exception {
    warn(reason);
    int stage = signal.getStageId();
    switch (signal.getAction()) {
      case Actions.KILL_TASK:
        return killTask(signal.getTaskId(), reason);
      case Actions.CANCEL_QUERY:
        return cancelQuery(signal, reason);
      case Actions.CANCEL_STAGE:
        return cancelStage(stage, reason);
      case Actions.CANCEL_JOBS:
        Set<Integer> jobs = registry.runningJobs();
        return cancelJobs("all jobs", jobs, () -> running(jobs), reason);
      case Actions.STOP_APPLICATION:
        return stopApplication(signal);
      default:
        throw new IllegalArgumentException("there is no action " + signal.getAction());
    }
  }

  private ActResult killTask(long task, String reason) {
    context.killTaskAttempt(task, true, reason);
    await(() -> !registry.runningTasks().contains(task), clock.ms() + WAIT_MS);
    return result(
        "task " + task,
        Collections.singleton(task),
        Collections.emptySet(),
        registry.runningTasks());
  }

  private ActResult cancelStage(int stage, String reason) {
    Set<Integer> jobs = registry.jobsOf(stage);
    return stop(
        "stage " + stage,
        jobs,
        registry.runningTasks(stage),
        () -> running(jobs),
        some -> context.cancelStage(stage, reason),
        reason);
  }

  private ActResult cancelQuery(Signal signal, String reason) throws Exception {
    Set<Integer> jobs = DriverCounters.queryJobs(registry, signal);
    if (registry.streams(jobs)) {
      return stopStreaming(jobs);
    }
    if (signal.hasQueryId()) {
      long query = signal.getQueryId();
      // The jobs are looked up again, because adaptive execution starts further jobs of the same
      // query.
      return cancelJobs("query " + query, jobs, () -> registry.jobsOfExecution(query), reason);
    }
    // The tag also covers jobs whose start events have not arrived.
    cancelTag(signal.getJobTag(), reason);
    return cancelJobs("query " + signal.getJobTag(), jobs, () -> running(jobs), reason);
  }

  /**
   * Stops streaming queries with their own {@code stop}, because cancelling a micro-batch would
   * fail the query. Each call of {@code stop} waits for its query without a time limit, so it runs
   * on a thread of its own.
   */
  private ActResult stopStreaming(Set<Integer> jobs) {
    Set<Long> tasks = registry.runningTasksOnlyOf(jobs);
    boolean found = false;
    for (String runId : registry.groups(jobs)) { // a batch's job group is its query's run id
      Runnable stop = streaming.stopOf(runId);
      if (stop != null) {
        found = true;
        DaemonThreads.of("stop", faults, stop).start();
      }
    }
    if (!found) {
      throw new IllegalStateException("the streaming query of the jobs " + jobs + " is not known");
    }
    await(() -> ended(jobs, tasks), clock.ms() + WAIT_MS);
    return result("the streaming query", tasks, running(jobs), registry.runningTasks());
  }

  private void cancelTag(String tag, String reason) throws Exception {
    try {
      SparkContext.class
          .getMethod("cancelJobsWithTag", String.class, String.class)
          .invoke(context, tag, reason);
    } catch (NoSuchMethodException older) { // before Spark 4.0 jobs are cancelled one by one
      PluginLog.info("Sparkfuse: this version of Spark cannot cancel a tag with a reason");
    }
  }

  private interface Cancel {
    void jobs(Set<Integer> jobs);
  }

  private ActResult cancelJobs(
      String name, Set<Integer> first, Supplier<Set<Integer>> now, String reason) {
    Set<Long> tasks = registry.runningTasksOnlyOf(first);
    Cancel each = some -> some.forEach(job -> context.cancelJob(job, reason));
    return stop(name, first, tasks, now, each, reason);
  }

  /**
   * Cancels jobs, waits, interrupts the tasks that are left, and waits again.
   *
   * <p>Spark does not interrupt tasks of a cancelled job, so sleeping and Python tasks would keep
   * their slots for tens of seconds.
   */
  private ActResult stop(
      String name,
      Set<Integer> first,
      Set<Long> tasks,
      Supplier<Set<Integer>> now,
      Cancel cancel,
      String reason) {
    long startMs = clock.ms();
    cancel.jobs(first);
    await(() -> ended(first, tasks) || context.isStopped(), startMs + CANCEL_MS);
    try {
      Set<Integer> later = now.get();
      if (!later.isEmpty()) {
        cancel.jobs(later);
      }
      for (long task : runningTasks(tasks)) {
        context.killTaskAttempt(task, true, reason);
      }
    } catch (RuntimeException fault) {
      if (!context.isStopped()) {
        throw fault;
      }
    }
    await(
        () -> (ended(first, tasks) && now.get().isEmpty()) || context.isStopped(),
        startMs + WAIT_MS);
    if (context.isStopped()) { // the job's code ended the application, and with it the tasks
      return new ActResult(true, tasks.size(), 0, name + " has ended with its application");
    }
    Set<Integer> jobs = new TreeSet<>(now.get());
    jobs.addAll(running(first));
    return result(name, tasks, jobs, runningTasks(tasks));
  }

  /**
   * Stops the context on a new thread, because stopping it also stops the hook. The executors end
   * with the context, so no task is left when Spark has ended all jobs.
   */
  private ActResult stopApplication(Signal signal) {
    Set<Integer> jobs = registry.runningJobs();
    Set<Long> tasks = registry.runningTasks();
    DaemonThreads.of("stop", faults, () -> stopContext(signal)).start();
    boolean ended =
        await(() -> context.isStopped() && running(jobs).isEmpty(), clock.ms() + WAIT_MS);
    Set<Long> left = ended ? Collections.emptySet() : runningTasks(tasks);
    return new ActResult(
        ended,
        tasks.size() - left.size(),
        left.size(),
        ended ? "the application is stopped" : "the application is still being stopped");
  }

  private void stopContext(Signal signal) {
    if (signal.hasExitCode()) {
      try {
        // This method exists since Spark 3.4. With older versions, the cluster manager sees a
        // success.
        SparkContext.class.getMethod("stop", int.class).invoke(context, signal.getExitCode());
        return;
      } catch (NoSuchMethodException older) {
        PluginLog.info("Sparkfuse: this version of Spark cannot stop with an exit code");
      } catch (ReflectiveOperationException fault) {
        faults.caught(fault);
      }
    }
    context.stop();
  }

  private boolean ended(Set<Integer> jobs, Set<Long> tasks) {
    return running(jobs).isEmpty() && runningTasks(tasks).isEmpty();
  }

  private Set<Integer> running(Set<Integer> jobs) {
    return left(jobs, registry.runningJobs());
  }

  private Set<Long> runningTasks(Set<Long> tasks) {
    return left(tasks, registry.runningTasks());
  }

  private static <T> Set<T> left(Set<T> before, Set<T> now) {
    Set<T> left = new TreeSet<>(before);
    left.retainAll(now);
    return left;
  }

  private static ActResult result(
      String name, Set<Long> before, Set<Integer> jobsLeft, Set<Long> now) {
    Set<Long> left = left(before, now);
    boolean ended = left.isEmpty() && jobsLeft.isEmpty();
    String reason =
        ended
            ? name + " has ended"
            : name + ": jobs " + jobsLeft + " and " + left.size() + " tasks still run";
    return new ActResult(ended, before.size() - left.size(), left.size(), reason);
  }

  private boolean await(BooleanSupplier done, long untilMs) {
    try {
      while (!done.getAsBoolean()) {
        if (clock.ms() >= untilMs) {
          return false;
        }
        Thread.sleep(POLL_MS);
      }
      return true;
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      return done.getAsBoolean();
    }
  }
}
