package io.sparkfuse.spark.counters;

import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.contracts.TaskStarted;
import io.sparkfuse.spark.safety.SteadyClock;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongSupplier;

/**
 * Counters of the running jobs and stages of this application, from the driver's listener and from
 * the progress that executors report. Thread-safe; each call is short.
 *
 * <p>Memory is limited to a few megabytes: a stage is forgotten after its last task has ended.
 * Beyond the limits, the oldest stages and jobs are forgotten, and further running tasks are only
 * counted; see {@link #forgotten}.
 */
public final class StageRegistry {
  static final int MAX_STAGES = 2_000;
  static final int MAX_JOBS = 1_000;
  static final int MAX_STAGES_OF_JOBS = 200_000;
  static final int MAX_RUNNING = 20_000;

  private final LongSupplier clockMs;
  private final LinkedHashMap<Long, StageCounters> stages = new LinkedHashMap<>();

  private final RunningJobs jobs = new RunningJobs();
  private final ApplicationCounters application;
  private int running;
  private long forgotten;
  private long succeededJobs;
  private long failedJobs;
  private boolean incomplete;
  private boolean wasIncomplete;

  public StageRegistry() {
    this(SteadyClock::ms);
  }

  /** Creates a registry with a monotonic clock. */
  StageRegistry(LongSupplier clockMs) {
    this.clockMs = clockMs;
    this.application = new ApplicationCounters(clockMs.getAsLong());
  }

  /**
   * Sets the price of a core-hour (0 if unknown) and the time from the application's start to its
   * deadline in ms (null if it has none).
   */
  public synchronized void plan(double pricePerCoreHour, Long untilDeadlineMs) {
    application.plan(pricePerCoreHour, untilDeadlineMs);
  }

  public synchronized void jobStarted(JobStarted job) {
    jobStarted(job, false);
  }

  /** Adds a job; {@code streaming} is true if the job is part of a streaming query. */
  public synchronized void jobStarted(JobStarted job, boolean streaming) {
    forgotten += jobs.add(job, streaming, clockMs.getAsLong());
  }

  public synchronized void jobEnded(JobEnded job) {
    jobs.remove(job.getJobId());
    if (job.getSucceeded()) {
      succeededJobs++;
    } else {
      failedJobs++;
    }
  }

  public synchronized void stageStarted(StageStarted stage) {
    StageCounters counters =
        new StageCounters(
            stage.getStageId(), stage.getStageAttempt(), stage.getNumTasks(), clockMs.getAsLong());
    if (incomplete) {
      counters.markIncomplete();
    }
    forgetStage(stages.put(key(stage.getStageId(), stage.getStageAttempt()), counters));
    if (stages.size() > MAX_STAGES) {
      Iterator<StageCounters> eldest = stages.values().iterator();
      forgetStage(eldest.next());
      eldest.remove();
      forgotten++;
    }
  }

  /**
   * Sets whether events may be skipped from now on; stages that run while events are skipped have
   * incomplete counters.
   */
  public synchronized void setIncomplete(boolean now) {
    incomplete = now;
    wasIncomplete |= now;
    if (now) {
      stages.values().forEach(StageCounters::markIncomplete);
    }
  }

  /**
   * Returns whether events of a stage attempt were skipped; if so, the counters of the attempt are
   * incomplete.
   */
  public synchronized boolean isIncomplete(int stageId, int attempt) {
    StageCounters counters = stages.get(key(stageId, attempt));
    return counters != null && counters.isIncomplete();
  }

  /** Returns whether events were ever skipped; if so, the application's counters are incomplete. */
  public synchronized boolean wasIncomplete() {
    return wasIncomplete;
  }

  public synchronized void stageEnded(StageEnded stage) {
    StageCounters counters = stages.get(key(stage.getStageId(), stage.getStageAttempt()));
    if (counters != null) {
      counters.end();
      forgetIfOver(counters);
    }
  }

  /**
   * Forgets an ended stage without running tasks. A stage with running tasks is kept, because its
   * tasks still occupy slots.
   */
  private void forgetIfOver(StageCounters counters) {
    if (counters.ended() && counters.runningTasks().isEmpty()) {
      stages.remove(key(counters.stageId, counters.attempt));
    }
  }

  private void forgetStage(StageCounters counters) {
    running -= counters == null ? 0 : counters.runningTasks().size();
  }

  public synchronized void taskStarted(TaskStarted task) {
    StageCounters counters = stages.get(key(task.getStageId(), task.getStageAttempt()));
    if (counters != null) {
      boolean room = running < MAX_RUNNING;
      running += counters.taskStarted(task.getTaskId(), room, clockMs.getAsLong()) ? 1 : 0;
      forgotten += room ? 0 : 1;
    }
  }

  public synchronized void taskProgressed(TaskProgress task) {
    StageCounters counters = stages.get(key(task.getStageId(), task.getStageAttempt()));
    if (counters != null) {
      counters.taskProgressed(task, clockMs.getAsLong());
    }
  }

  public synchronized void executorAdded(String executorId, int cores) {
    forgotten += application.added(executorId, cores, clockMs.getAsLong()) ? 0 : 1;
  }

  public synchronized void executorRemoved(String executorId, String reason) {
    application.removed(executorId, reason, clockMs.getAsLong());
  }

  public synchronized void executorSampled(ExecutorSample sample) {
    application.sampled(sample, clockMs.getAsLong());
  }

  public synchronized void taskEnded(TaskEnded task) {
    if (task.getOutcome().equals("success")) {
      application.taskSucceeded(clockMs.getAsLong());
    }
    StageCounters counters = stages.get(key(task.getStageId(), task.getStageAttempt()));
    if (counters != null) {
      running -= counters.taskEnded(task, clockMs.getAsLong()) ? 1 : 0;
      forgetIfOver(counters);
    }
  }

  /** Returns how many jobs, stages and running tasks exceeded the limits. */
  public synchronized long forgotten() {
    return forgotten;
  }

  /** Returns the running job with the lowest id that uses a stage, or null. */
  public synchronized Integer firstJob(int stageId) {
    List<Integer> found = jobs.ofStage(stageId);
    return found.isEmpty() ? null : found.get(0);
  }

  /** Returns the running jobs that use a stage. */
  public synchronized Set<Integer> jobsOf(int stageId) {
    return new TreeSet<>(jobs.ofStage(stageId));
  }

  /** Returns the running jobs of a SQL execution. */
  public synchronized Set<Integer> jobsOfExecution(long executionId) {
    return new TreeSet<>(jobs.ofExecution(executionId));
  }

  /** Returns the running jobs that carry a job tag or belong to a job group. */
  public synchronized Set<Integer> jobsOfTag(String tag) {
    return new TreeSet<>(jobs.ofTag(tag));
  }

  /** Returns the running jobs. */
  public synchronized Set<Integer> runningJobs() {
    return new TreeSet<>(jobs.ids());
  }

  /** Returns the users, sessions or job groups of the given running jobs. */
  public synchronized Set<String> owners(Set<Integer> some) {
    return jobs.owners(some);
  }

  /** Returns whether this driver ever ran jobs of several users, sessions or job groups. */
  public synchronized boolean hadSeveralOwners() {
    return jobs.hadSeveralOwners();
  }

  /** Returns whether any of the given running jobs is part of a streaming query. */
  public synchronized boolean streams(Set<Integer> some) {
    return jobs.streams(some);
  }

  /** Returns the job groups of the given running jobs. */
  public synchronized Set<String> groups(Set<Integer> some) {
    Set<String> groups = new TreeSet<>();
    some.forEach(job -> groups.add(jobs.group(job)));
    return groups;
  }

  /** Returns the counters of a stage attempt by column; empty if the attempt is not running. */
  public synchronized Map<String, Long> columns(int stageId, int attempt) {
    StageCounters counters = stages.get(key(stageId, attempt));
    if (counters == null || counters.ended()) {
      return Collections.emptyMap();
    }
    return counters.columns(clockMs.getAsLong());
  }

  /** Returns the counters of a task by name; empty if the task is not running in the attempt. */
  public synchronized Map<String, Long> taskCounters(int stageId, int attempt, long taskId) {
    StageCounters counters = stages.get(key(stageId, attempt));
    return counters == null ? Collections.emptyMap() : counters.taskCounters(taskId);
  }

  /** Returns the counters of a SQL execution by name; empty if none of its jobs is running. */
  public synchronized Map<String, Long> queryCounters(long executionId) {
    Set<Integer> own = new TreeSet<>(jobs.ofExecution(executionId));
    Map<String, Long> values = new LinkedHashMap<>();
    if (own.isEmpty()) {
      return values;
    }
    long nowMs = clockMs.getAsLong();
    long tasks = 0;
    long written = 0;
    for (StageCounters counters : stages.values()) {
      if (!counters.ended() && jobs.use(own, counters.stageId)) {
        Map<String, Long> columns = counters.columns(nowMs);
        tasks += columns.get("running_tasks");
        written += columns.get("written_bytes");
      }
    }
    values.put("query_elapsed_ms", nowMs - jobs.oldestStart(own, nowMs));
    values.put("query_running_tasks", tasks);
    values.put("query_written_bytes", written);
    return values;
  }

  /** Returns the counters of the application by name. */
  public synchronized Map<String, Long> applicationCounters() {
    return application.values(clockMs.getAsLong());
  }

  /**
   * Returns the longest time since a running task of the application reported progress or started,
   * in ms.
   */
  public synchronized long progressAgeMs() {
    long nowMs = clockMs.getAsLong();
    return stages.values().stream().mapToLong(each -> each.progressAgeMs(nowMs)).max().orElse(0);
  }

  /**
   * Returns the longest time since a running task of the attempt reported progress or started, in
   * ms.
   */
  public synchronized long progressAgeMs(int stageId, int attempt) {
    StageCounters counters = stages.get(key(stageId, attempt));
    return counters == null ? 0 : counters.progressAgeMs(clockMs.getAsLong());
  }

  /** Returns the ids of the running tasks of a stage attempt. */
  public synchronized Set<Long> runningTasks(int stageId, int attempt) {
    StageCounters counters = stages.get(key(stageId, attempt));
    return counters == null ? new TreeSet<>() : new TreeSet<>(counters.runningTasks());
  }

  /** Returns the ids of the running tasks of all attempts of a stage. */
  public synchronized Set<Long> runningTasks(int stageId) {
    return tasksOf(Collections.singleton(stageId));
  }

  /** Returns the ids of the running tasks of stages that no other running job uses. */
  public synchronized Set<Long> runningTasksOnlyOf(Set<Integer> some) {
    return tasksOf(jobs.stagesOnlyOf(some));
  }

  /** Returns the ids of all running tasks. */
  public synchronized Set<Long> runningTasks() {
    Set<Long> tasks = new TreeSet<>();
    stages.values().forEach(counters -> tasks.addAll(counters.runningTasks()));
    return tasks;
  }

  private Set<Long> tasksOf(Set<Integer> some) {
    Set<Long> tasks = new TreeSet<>();
    for (StageCounters counters : stages.values()) {
      if (some.contains(counters.stageId)) {
        tasks.addAll(counters.runningTasks());
      }
    }
    return tasks;
  }

  /** Returns the number of jobs that succeeded. */
  public synchronized long succeededJobs() {
    return succeededJobs;
  }

  /** Returns the number of jobs that failed. */
  public synchronized long failedJobs() {
    return failedJobs;
  }

  private static long key(int stageId, int attempt) {
    return ((long) stageId << 32) | attempt;
  }
}
