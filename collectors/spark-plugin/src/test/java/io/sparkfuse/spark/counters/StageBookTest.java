package io.sparkfuse.spark.counters;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.contracts.TaskStarted;
import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class StageBookTest {
  private long nowMs = 1_000;
  private final StageBook book = new StageBook(() -> nowMs);

  @BeforeEach
  void oneRunningStageOfTwoJobs() {
    book.jobStarted(JobStarted.newBuilder().setJobId(4).addStageIds(3).build());
    book.jobStarted(JobStarted.newBuilder().setJobId(5).addStageIds(3).addStageIds(6).build());
    book.stageStarted(
        StageStarted.newBuilder()
            .setStageId(3)
            .setStageAttempt(1)
            .setNumTasks(9)
            .setSubmittedMs(1_700_000_000_000L) // of the machine's clock, which may jump
            .build());
    start(11);
    start(12);
  }

  private void start(long task) {
    book.taskStarted(
        TaskStarted.newBuilder().setStageId(3).setStageAttempt(1).setTaskId(task).build());
  }

  private void progress(long task, long spilled) {
    book.taskProgressed(
        TaskProgress.newBuilder()
            .setStageId(3)
            .setStageAttempt(1)
            .setTaskId(task)
            .setDiskSpilledBytes(spilled)
            .setInputBytes(7)
            .build());
  }

  private void end(long task, String outcome, long spilled) {
    book.taskEnded(
        TaskEnded.newBuilder()
            .setStageId(3)
            .setStageAttempt(1)
            .setTaskId(task)
            .setOutcome(outcome)
            .setDiskSpilledBytes(spilled)
            .setShuffleReadBytes(5)
            .build());
  }

  @Test
  void endedAndRunningTasksAreNeverCountedTwice() {
    progress(11, 100);
    progress(12, 10);
    end(11, "success", 150);
    progress(11, 140); // late, after its end
    nowMs = 61_000;
    Map<String, Long> columns = book.columns(3, 1);

    assertEquals(160, columns.get("disk_spilled_bytes"));
    assertEquals(150, columns.get("finished_disk_spilled_bytes"));
    assertEquals(10, columns.get("running_disk_spilled_bytes"));
    assertEquals(12, columns.get("work_bytes"));
    assertEquals(1, columns.get("finished_tasks"));
    assertEquals(1, columns.get("running_tasks"));
    assertEquals(60_000, columns.get("elapsed_ms"));
    assertEquals(columns, book.columns(3, 1), "reading changes nothing");
  }

  @Test
  void sinceFinishCountsFromTheSubmissionUntilATaskEnds() {
    nowMs = 5_000;
    assertEquals(4_000, book.columns(3, 1).get("since_finish_ms"));
    end(11, "success", 0);
    nowMs = 6_500;
    assertEquals(1_500, book.columns(3, 1).get("since_finish_ms"));
    assertEquals(5_500, book.columns(3, 1).get("elapsed_ms"));
  }

  @Test
  void aStageThatDoesNotRunHasNoCounters() {
    assertEquals(Collections.emptyMap(), book.columns(3, 0));
    book.stageEnded(StageEnded.newBuilder().setStageId(3).setStageAttempt(1).build());
    assertEquals(Collections.emptyMap(), book.columns(3, 1));
    assertEquals(Arrays.asList(11L, 12L), book.runningTasks(3), "its tasks may still hold slots");
  }

  @Test
  void jobsOfAStageAreTheRunningOnes() {
    assertEquals(Arrays.asList(4, 5), book.jobsOf(3));
    book.jobEnded(JobEnded.newBuilder().setJobId(4).setSucceeded(true).build());
    assertEquals(5, book.firstJob(3));
    assertEquals(1, book.succeededJobs());
  }

  @Test
  void anEndedStageIsForgottenWithItsLastTask() {
    book.stageEnded(StageEnded.newBuilder().setStageId(3).setStageAttempt(1).build());
    end(11, "success", 0);
    assertEquals(Arrays.asList(12L), book.runningTasks());
    end(12, "killed", 0);
    assertEquals(Collections.emptyList(), book.runningTasks());
    assertEquals(0, book.forgotten(), "it was over");
  }

  @Test
  void beyondTheBoundRunningTasksAreCountedAndTheirEndsToo() {
    for (long task = 100; task < 100 + StageBook.MOST_RUNNING; task++) {
      start(task);
    }
    assertEquals(StageBook.MOST_RUNNING + 2, book.columns(3, 1).get("running_tasks"));
    assertEquals(2, book.forgotten());
    for (long task = 100; task < 100 + StageBook.MOST_RUNNING; task++) {
      end(task, "success", 0);
    }
    assertEquals(2, book.columns(3, 1).get("running_tasks"));
    assertEquals(Arrays.asList(11L, 12L), book.runningTasks(3));
    start(50);
    assertEquals(2, book.forgotten(), "there is room again");
  }

  @Test
  void manyStagesAndJobsThatNeverEndAreForgottenOldestFirst() {
    for (int i = 10; i < 10 + 2 * StageBook.MOST_STAGES; i++) {
      book.stageStarted(StageStarted.newBuilder().setStageId(i).setStageAttempt(0).build());
    }
    assertEquals(Collections.emptyMap(), book.columns(3, 1));
    assertEquals(Collections.emptyList(), book.runningTasks(3));
    for (int i = 10; i < 10 + 2 * StageBook.MOST_JOBS; i++) {
      book.jobStarted(JobStarted.newBuilder().setJobId(i).addStageIds(i).build());
    }
    assertEquals(StageBook.MOST_JOBS, book.runningJobs().size());
    assertEquals(Collections.emptyList(), book.jobsOf(3));
    assertEquals(StageBook.MOST_STAGES + 1 + StageBook.MOST_JOBS + 2, book.forgotten());
  }
}
