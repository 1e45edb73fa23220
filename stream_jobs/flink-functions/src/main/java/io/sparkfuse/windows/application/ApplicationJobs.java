package io.sparkfuse.windows.application;

import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.windows.wire.ApplicationState;
import java.util.TreeSet;

/**
 * The running jobs of one application, and the time during which no job ran. After facts were lost
 * or the collector was off, the jobs and the time are unknown until a job starts or ends.
 */
final class ApplicationJobs {
  /** Maximum number of running jobs. Above this number, the oldest counts as ended. */
  static final int MAX_JOBS = 10_000;

  private final TreeSet<Integer> running = new TreeSet<>();
  private long betweenMs;
  // The latest end of a job; null before the first end.
  private Long endedMs;
  private boolean unknown;

  static ApplicationJobs restore(ApplicationState saved) {
    ApplicationJobs jobs = new ApplicationJobs();
    jobs.running.addAll(saved.getRunningJobsList());
    jobs.betweenMs = saved.getBetweenJobsMs();
    jobs.endedMs = saved.hasLastJobEndedMs() ? (Long) saved.getLastJobEndedMs() : null;
    jobs.unknown = saved.getJobsUnknown();
    return jobs;
  }

  void save(ApplicationState.Builder state) {
    state.addAllRunningJobs(running).setBetweenJobsMs(betweenMs);
    if (endedMs != null) {
      state.setLastJobEndedMs(endedMs);
    }
    if (unknown) {
      state.setJobsUnknown(true);
    }
  }

  /**
   * Forgets the jobs, because facts about jobs were lost or the collector is off. A job whose end
   * was lost would otherwise count as running forever.
   */
  void factsLost() {
    running.clear();
    endedMs = null;
    unknown = true;
  }

  boolean known() {
    return !unknown;
  }

  void add(JobStarted started) {
    unknown = false;
    if (running.isEmpty() && started.hasSubmittedMs()) {
      betweenMs += since(started.getSubmittedMs());
    }
    running.add(started.getJobId());
    if (running.size() > MAX_JOBS) {
      running.pollFirst();
    }
  }

  void add(JobEnded ended) {
    unknown = false;
    running.remove(ended.getJobId());
    if (ended.hasCompletedMs()) {
      endedMs = Math.max(ended.getCompletedMs(), endedMs == null ? Long.MIN_VALUE : endedMs);
    }
  }

  int running() {
    return running.size();
  }

  /** Total time without a running job, from the first end of a job to {@code untilMs}. [ms] */
  long betweenMs(long untilMs) {
    return betweenMs + (running.isEmpty() ? since(untilMs) : 0);
  }

  private long since(long momentMs) {
    return endedMs == null ? 0 : Math.max(0, momentMs - endedMs);
  }
}
