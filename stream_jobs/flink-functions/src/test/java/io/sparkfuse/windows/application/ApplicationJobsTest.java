package io.sparkfuse.windows.application;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.windows.wire.ApplicationState;
import org.junit.jupiter.api.Test;

/** The time in which no job ran, over saves and with times that are not there. */
class ApplicationJobsTest {
  private ApplicationJobs jobs = new ApplicationJobs();

  /** The time before the first job is the wait for executors, and no job's to be behind. */
  @Test
  void nothingIsBetweenJobsBeforeTheFirstHasEnded() {
    assertEquals(0, jobs.betweenMs(10_000));
    started(1, 5_000);
    assertEquals(0, jobs.betweenMs(10_000));
  }

  @Test
  void gapsAddUpAndTheLastOneGrows() {
    started(1, 1_000);
    ended(1, 2_000);
    assertEquals(500, jobs.betweenMs(2_500));
    started(2, 5_000);
    assertEquals(3_000, jobs.betweenMs(5_500));
    ended(2, 6_000);

    assertEquals(3_000 + 4_000, jobs.betweenMs(10_000));
  }

  /** Of jobs that overlap the one that ends last leaves the gap. */
  @Test
  void jobsThatOverlapLeaveNoGap() {
    started(1, 1_000);
    started(2, 1_500);
    ended(1, 3_000);
    assertEquals(0, jobs.betweenMs(3_500));
    started(3, 4_000);
    ended(3, 4_500);
    ended(2, 4_200);
    assertEquals(500, jobs.betweenMs(5_000));
  }

  /** A start whose end is told with an earlier time, or none at all, takes no time away. */
  @Test
  void oddTimesCountForNothing() {
    ended(7, 9_000);
    started(8, 1_000);
    jobs.see(JobEnded.newBuilder().setJobId(8).build());
    jobs.see(JobStarted.newBuilder().setJobId(9).build());
    jobs.see(JobEnded.newBuilder().setJobId(9).build());

    assertEquals(0, jobs.betweenMs(8_000));
    assertEquals(1_000, jobs.betweenMs(10_000));
  }

  private void started(int id, long submittedMs) {
    restore();
    jobs.see(JobStarted.newBuilder().setJobId(id).setSubmittedMs(submittedMs).build());
  }

  private void ended(int id, long completedMs) {
    restore();
    jobs.see(JobEnded.newBuilder().setJobId(id).setCompletedMs(completedMs).build());
  }

  /** As between two windows. */
  private void restore() {
    ApplicationState.Builder state = ApplicationState.newBuilder();
    jobs.save(state);
    jobs = ApplicationJobs.restore(state.build());
  }
}
