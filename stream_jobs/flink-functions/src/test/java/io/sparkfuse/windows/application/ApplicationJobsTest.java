package io.sparkfuse.windows.application;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.windows.wire.ApplicationState;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;

/** Tests the time in which no job ran, with restores of the state and with missing times. */
class ApplicationJobsTest {
  private ApplicationJobs jobs = new ApplicationJobs();

  /**
   * The time before the end of the first job does not count, because the application waits for
   * executors.
   */
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

  /** A job end with an earlier time, or without a time, does not change the gap. */
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

  /** The time without a job equals the time that Python computes from the jobs of an event log. */
  @Test
  @SuppressWarnings("unchecked")
  void sharedCasesHaveTheirTime() throws Exception {
    byte[] json = Files.readAllBytes(Path.of("../../contracts/generated/shared/between_jobs.json"));
    Map<String, Object> shared = new ObjectMapper().readValue(json, Map.class);
    for (Map<String, Object> test : (List<Map<String, Object>>) shared.get("cases")) {
      jobs = new ApplicationJobs();
      replay((List<String>) test.get("jobs"));
      long untilMs = ((Number) test.get("until_ms")).longValue();

      long expected = ((Number) test.get("between_ms")).longValue();
      assertEquals(expected, jobs.betweenMs(untilMs), (String) test.get("name"));
    }
  }

  /**
   * Adds starts and ends in the order of their times; if a start and an end have the same time, the
   * end comes first, as in a driver.
   */
  private void replay(List<String> times) {
    TreeMap<Long, List<Runnable>> events = new TreeMap<>();
    for (int id = 0; id < times.size(); id++) {
      int job = id;
      String[] of = times.get(id).split(" ");
      if (!of[1].equals("-")) {
        long endMs = Long.parseLong(of[1]);
        events.computeIfAbsent(2 * endMs, at -> new ArrayList<>()).add(() -> ended(job, endMs));
      }
      long startMs = Long.parseLong(of[0]);
      events
          .computeIfAbsent(2 * startMs + 1, at -> new ArrayList<>())
          .add(() -> started(job, startMs));
    }
    events.values().forEach(all -> all.forEach(Runnable::run));
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
