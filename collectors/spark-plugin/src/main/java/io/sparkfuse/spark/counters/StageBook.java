package io.sparkfuse.spark.counters;

import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.contracts.TaskStarted;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Keeps account of the running jobs and stages of this application, from what the driver's listener
 * saw and executors told; bounded. Safe for threads, each call is short.
 */
public final class StageBook {
  private static final int MOST_STAGES = 2_000;

  private final Map<Long, StageCounters> stages =
      new LinkedHashMap<Long, StageCounters>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, StageCounters> eldest) {
          return size() > MOST_STAGES;
        }
      };
  private final TreeMap<Integer, Set<Integer>> stagesOfJobs = new TreeMap<>();
  private long succeededJobs;
  private long failedJobs;
  private boolean blind;

  public synchronized void jobStarted(JobStarted job) {
    stagesOfJobs.put(job.getJobId(), new HashSet<>(job.getStageIdsList()));
  }

  public synchronized void jobEnded(JobEnded job) {
    stagesOfJobs.remove(job.getJobId());
    if (job.getSucceeded()) {
      succeededJobs++;
    } else {
      failedJobs++;
    }
  }

  public synchronized void stageStarted(StageStarted stage) {
    StageCounters counters =
        new StageCounters(
            stage.getStageId(),
            stage.getStageAttempt(),
            stage.getNumTasks(),
            stage.getSubmittedMs());
    if (blind) {
      counters.markBlind();
    }
    stages.put(key(stage.getStageId(), stage.getStageAttempt()), counters);
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
    }
  }

  public synchronized void taskStarted(TaskStarted task) {
    StageCounters counters = stages.get(key(task.getStageId(), task.getStageAttempt()));
    if (counters != null) {
      counters.taskStarted(task.getTaskId());
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
      counters.taskEnded(task, System.currentTimeMillis());
    }
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
          if (its.contains(stageId)) {
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
  public synchronized Map<String, Long> columns(int stageId, int attempt, long nowMs) {
    StageCounters counters = stages.get(key(stageId, attempt));
    if (counters == null || counters.ended()) {
      return Collections.emptyMap();
    }
    return counters.columns(nowMs);
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
