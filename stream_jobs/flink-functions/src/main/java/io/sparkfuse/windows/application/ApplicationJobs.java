package io.sparkfuse.windows.application;

import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.windows.wire.ApplicationState;
import java.util.TreeSet;

/**
 * The jobs of one application that run, and for how long none did; unknown behind a time in which
 * nobody looked, until one starts or ends.
 */
final class ApplicationJobs {
  private final TreeSet<Integer> running = new TreeSet<>();
  private long betweenMs;
  // When the job ended that ended latest; null before the first end.
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

  /** Nobody looks: jobs end and start unseen, and the time without any cannot be told. */
  void unseen() {
    running.clear();
    endedMs = null;
    unknown = true;
  }

  boolean known() {
    return !unknown;
  }

  void see(JobStarted started) {
    unknown = false;
    if (running.isEmpty() && started.hasSubmittedMs()) {
      betweenMs += since(started.getSubmittedMs());
    }
    running.add(started.getJobId());
  }

  void see(JobEnded ended) {
    unknown = false;
    running.remove(ended.getJobId());
    if (ended.hasCompletedMs()) {
      endedMs = Math.max(ended.getCompletedMs(), endedMs == null ? Long.MIN_VALUE : endedMs);
    }
  }

  int running() {
    return running.size();
  }

  /** Time behind the first end of a job in which none ran, up to a moment. [ms] */
  long betweenMs(long untilMs) {
    return betweenMs + (running.isEmpty() ? since(untilMs) : 0);
  }

  private long since(long momentMs) {
    return endedMs == null ? 0 : Math.max(0, momentMs - endedMs);
  }
}
