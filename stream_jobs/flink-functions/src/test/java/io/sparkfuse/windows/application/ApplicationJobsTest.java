package io.sparkfuse.windows.application;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.windows.wire.ApplicationState;
import org.junit.jupiter.api.Test;

/** The time in which no job ran, across restores and with missing times. */
class ApplicationJobsTest {
  private ApplicationJobs jobs = new ApplicationJobs();

  /** Time before the first job is a wait for executors and does not count. */
  @Test
  void isZeroBeforeTheFirstEnd() {
    assertEquals(0, jobs.betweenMs(10_000));
    started(1, 5_000);
    assertEquals(0, jobs.betweenMs(10_000));
  }

  @Test
  void sumsGapsAndTheCurrentOne() {
    started(1, 1_000);
    ended(1, 2_000);
    assertEquals(500, jobs.betweenMs(2_500));
    started(2, 5_000);
    assertEquals(3_000, jobs.betweenMs(5_500));
    ended(2, 6_000);

    assertEquals(3_000 + 4_000, jobs.betweenMs(10_000));
  }

  /** If jobs overlap, the gap begins at the latest end. */
  @Test
  void overlappingJobsLeaveNoGap() {
    started(1, 1_000);
    started(2, 1_500);
    ended(1, 3_000);
    assertEquals(0, jobs.betweenMs(3_500));
    started(3, 4_000);
    ended(3, 4_500);
    ended(2, 4_200);
    assertEquals(500, jobs.betweenMs(5_000));
  }

  /** An end with an earlier time, or without one, does not shorten the gap. */
  @Test
  void ignoresInvalidTimes() {
    ended(7, 9_000);
    started(8, 1_000);
    jobs.add(JobEnded.newBuilder().setJobId(8).build());
    jobs.add(JobStarted.newBuilder().setJobId(9).build());
    jobs.add(JobEnded.newBuilder().setJobId(9).build());

    assertEquals(0, jobs.betweenMs(8_000));
    assertEquals(1_000, jobs.betweenMs(10_000));
  }

  private void started(int id, long submittedMs) {
    restore();
    jobs.add(JobStarted.newBuilder().setJobId(id).setSubmittedMs(submittedMs).build());
  }

  private void ended(int id, long completedMs) {
    restore();
    jobs.add(JobEnded.newBuilder().setJobId(id).setCompletedMs(completedMs).build());
  }

  /** Saves and restores the state, as the job does between two windows. */
  private void restore() {
    ApplicationState.Builder state = ApplicationState.newBuilder();
    jobs.save(state);
    jobs = ApplicationJobs.restore(state.build());
  }
}
