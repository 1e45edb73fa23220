package io.sparkfuse.spark.counters;

import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.contracts.TaskStarted;
import io.sparkfuse.spark.safety.SteadyClock;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/**
 * Keeps account of the running jobs and stages of this application, from what the driver's listener
 * saw and executors told. Safe for threads, each call is short.
 *
 * <p>Bounded to a few megabytes: an ended stage is forgotten with its last task, and beyond the
 * bounds the oldest stages and jobs are forgotten and running tasks only counted; {@link
 * #forgotten} says how many that were.
 */
public final class StageRegistry {
  static final int MAX_STAGES = 2_000;
  static final int MAX_JOBS = 1_000;
  static final int MAX_STAGES_OF_JOBS = 200_000;
  static final int MAX_RUNNING = 20_000;

  private final LongSupplier clockMs;
  private final LinkedHashMap<Long, StageCounters> stages = new LinkedHashMap<>();

  /** The stages of each running job, ascending. */
  private final TreeMap<Integer, int[]> stagesOfJobs = new TreeMap<>();

  private int stagesOfAllJobs;
  private int running;
  private long forgotten;
  private long succeededJobs;
  private long failedJobs;
  private boolean blind;

  public StageRegistry() {
    this(SteadyClock::ms);
  }

  /** {@code clockMs} does not jump. */
  StageRegistry(LongSupplier clockMs) {
    this.clockMs = clockMs;
  }

  public synchronized void jobStarted(JobStarted job) {
    int[] its = job.getStageIdsList().stream().mapToInt(Integer::intValue).sorted().toArray();
    forgetJob(stagesOfJobs.put(job.getJobId(), its));
    stagesOfAllJobs += its.length;
    while (stagesOfJobs.size() > MAX_JOBS || stagesOfAllJobs > MAX_STAGES_OF_JOBS) {
      forgetJob(stagesOfJobs.pollFirstEntry().getValue());
      forgotten++;
    }
  }

  public synchronized void jobEnded(JobEnded job) {
    forgetJob(stagesOfJobs.remove(job.getJobId()));
    if (job.getSucceeded()) {
      succeededJobs++;
    } else {
      failedJobs++;
    }
  }

  private void forgetJob(int[] its) {
    stagesOfAllJobs -= its == null ? 0 : its.length;
  }

  public synchronized void stageStarted(StageStarted stage) {
    StageCounters counters =
        new StageCounters(
            stage.getStageId(), stage.getStageAttempt(), stage.getNumTasks(), clockMs.getAsLong());
    if (blind) {
      counters.markBlind();
    }
    forgetStage(stages.put(key(stage.getStageId(), stage.getStageAttempt()), counters));
    if (stages.size() > MAX_STAGES) {
      Iterator<StageCounters> eldest = stages.values().iterator();
      forgetStage(eldest.next());
      eldest.remove();
      forgotten++;
    }
  }

  /** From now on events may be passed over (true) or not: what runs meanwhile is not whole. */
  public synchronized void setBlind(boolean now) {
    blind = now;
    if (now) {
      stages.values().forEach(StageCounters::markBlind);
    }
  }

  /** Whether events of a stage attempt were passed over, so that its counters are not whole. */
  public synchronized boolean isBlind(int stageId, int attempt) {
    StageCounters counters = stages.get(key(stageId, attempt));
    return counters != null && counters.isBlind();
  }

  public synchronized void stageEnded(StageEnded stage) {
    StageCounters counters = stages.get(key(stage.getStageId(), stage.getStageAttempt()));
    if (counters != null) {
      counters.end();
      forgetIfOver(counters);
    }
  }

  /** A task that still runs when its stage has ended holds a slot, so its stage is kept. */
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
      running += counters.taskStarted(task.getTaskId(), room) ? 1 : 0;
      forgotten += room ? 0 : 1;
    }
  }

  public synchronized void taskProgressed(TaskProgress task) {
    StageCounters counters = stages.get(key(task.getStageId(), task.getStageAttempt()));
    if (counters != null) {
      counters.taskProgressed(task);
    }
  }

  public synchronized void taskEnded(TaskEnded task) {
    StageCounters counters = stages.get(key(task.getStageId(), task.getStageAttempt()));
    if (counters != null) {
      running -= counters.taskEnded(task, clockMs.getAsLong()) ? 1 : 0;
      forgetIfOver(counters);
    }
  }

  /** Jobs, stages and running tasks that found no room. */
  public synchronized long forgotten() {
    return forgotten;
  }

  /** The running job with the lowest id that uses a stage, or null. */
  public synchronized Integer firstJob(int stageId) {
    List<Integer> jobs = jobsOf(stageId);
    return jobs.isEmpty() ? null : jobs.get(0);
  }

  /** The running jobs that use a stage. */
  public synchronized List<Integer> jobsOf(int stageId) {
    List<Integer> jobs = new ArrayList<>();
    stagesOfJobs.forEach(
        (job, its) -> {
          if (Arrays.binarySearch(its, stageId) >= 0) {
            jobs.add(job);
          }
        });
    return jobs;
  }

  /** The running jobs. */
  public synchronized List<Integer> runningJobs() {
    return new ArrayList<>(stagesOfJobs.keySet());
  }

  /** The counters of a running stage attempt by column, or an empty map when it does not run. */
  public synchronized Map<String, Long> columns(int stageId, int attempt) {
    StageCounters counters = stages.get(key(stageId, attempt));
    if (counters == null || counters.ended()) {
      return Collections.emptyMap();
    }
    return counters.columns(clockMs.getAsLong());
  }

  /** Ids of the running tasks of all attempts of a stage. */
  public synchronized List<Long> runningTasks(int stageId) {
    List<Long> tasks = new ArrayList<>();
    for (StageCounters counters : stages.values()) {
      if (counters.stageId == stageId) {
        tasks.addAll(counters.runningTasks());
      }
    }
    return tasks;
  }

  /** Ids of all running tasks. */
  public synchronized List<Long> runningTasks() {
    List<Long> tasks = new ArrayList<>();
    stages.values().forEach(counters -> tasks.addAll(counters.runningTasks()));
    return tasks;
  }

  /** Jobs that ended well. */
  public synchronized long succeededJobs() {
    return succeededJobs;
  }

  /** Jobs that ended badly. */
  public synchronized long failedJobs() {
    return failedJobs;
  }

  private static long key(int stageId, int attempt) {
    return ((long) stageId << 32) | attempt;
  }
}
