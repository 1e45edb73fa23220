package io.sparkfuse.spark.counters;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

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
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class StageRegistryTest {
  private long nowMs = 1_000;
  private final StageRegistry registry = new StageRegistry(() -> nowMs);

  @BeforeEach
  void countersOfRunningStageOfTwoJobs() {
    registry.jobStarted(JobStarted.newBuilder().setJobId(4).addStageIds(3).build());
    registry.jobStarted(JobStarted.newBuilder().setJobId(5).addStageIds(3).addStageIds(6).build());
    registry.stageStarted(
        StageStarted.newBuilder()
            .setStageId(3)
            .setStageAttempt(1)
            .setNumTasks(9)
            .setSubmittedMs(1_700_000_000_000L) // a change of the system time
            .build());
    start(11);
    start(12);
  }

  private void start(long task) {
    registry.taskStarted(
        TaskStarted.newBuilder().setStageId(3).setStageAttempt(1).setTaskId(task).build());
  }

  private void progress(long task, long spilled) {
    registry.taskProgressed(
        TaskProgress.newBuilder()
            .setStageId(3)
            .setStageAttempt(1)
            .setTaskId(task)
            .setDiskSpilledBytes(spilled)
            .setInputBytes(7)
            .build());
  }

  private void end(long task, String outcome, long spilled) {
    registry.taskEnded(
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
  void tasksAreCountedOnce() {
    progress(11, 100);
    progress(12, 10);
    end(11, "success", 150);
    progress(11, 140); // after the end of its stage
    nowMs = 61_000;
    Map<String, Long> columns = registry.columns(3, 1);

    assertEquals(160, columns.get("disk_spilled_bytes"));
    assertEquals(150, columns.get("finished_disk_spilled_bytes"));
    assertEquals(10, columns.get("running_disk_spilled_bytes"));
    assertEquals(12, columns.get("work_bytes"));
    assertEquals(1, columns.get("finished_tasks"));
    assertEquals(1, columns.get("running_tasks"));
    assertEquals(60_000, columns.get("elapsed_ms"));
    assertEquals(columns, registry.columns(3, 1), "reading changes nothing");
  }

  @Test
  void sinceFinishStartsAtSubmission() {
    nowMs = 5_000;
    assertEquals(4_000, registry.columns(3, 1).get("since_finish_ms"));
    end(11, "success", 0);
    nowMs = 6_500;
    assertEquals(1_500, registry.columns(3, 1).get("since_finish_ms"));
    assertEquals(5_500, registry.columns(3, 1).get("elapsed_ms"));
  }

  private void spillOnly(long task, long sinceProgressMs, long bytes, long sinceSpillMs) {
    registry.taskProgressed(
        TaskProgress.newBuilder()
            .setStageId(3)
            .setStageAttempt(1)
            .setTaskId(task)
            .setSinceProgressMs(sinceProgressMs)
            .setSpilledSinceProgressBytes(bytes)
            .setSinceSpillMs(sinceSpillMs)
            .build());
  }

  @Test
  void spillWithoutProgressIsOfTheTaskWithTheMostBytes() {
    spillOnly(11, 90_000, 500, 60_000);
    assertEquals(
        0, registry.columns(3, 1).get("running_since_progress_min_ms"), "of task 12 it is unknown");
    spillOnly(12, 40_000, 20, 100);
    Map<String, Long> columns = registry.columns(3, 1);

    assertEquals(40_000, columns.get("running_since_progress_min_ms"));
    assertEquals(500, columns.get("running_spilled_since_progress_max_bytes"));
    assertEquals(60_000, columns.get("running_since_spill_ms"));
    progress(11, 500);
    progress(12, 500);
    assertNull(registry.columns(3, 1).get("running_since_spill_ms"), "older plugins do not report");
    end(11, "success", 0);
    end(12, "success", 0);
    assertNull(registry.columns(3, 1).get("running_since_progress_min_ms"), "no task runs");
  }

  @Test
  void stageThatIsNotRunningHasNoCounters() {
    assertEquals(Collections.emptyMap(), registry.columns(3, 0));
    registry.stageEnded(StageEnded.newBuilder().setStageId(3).setStageAttempt(1).build());
    assertEquals(Collections.emptyMap(), registry.columns(3, 1));
    assertEquals(
        new TreeSet<>(Arrays.asList(11L, 12L)),
        registry.runningTasks(3),
        "its tasks may still hold slots");
  }

  @Test
  void onlyRunningJobsOfStageAreReturned() {
    assertEquals(new TreeSet<>(Arrays.asList(4, 5)), registry.jobsOf(3));
    registry.jobEnded(JobEnded.newBuilder().setJobId(4).setSucceeded(true).build());
    assertEquals(5, registry.firstJob(3));
    assertEquals(1, registry.succeededJobs());
  }

  @Test
  void endedStageIsForgottenAfterItsLastTask() {
    registry.stageEnded(StageEnded.newBuilder().setStageId(3).setStageAttempt(1).build());
    end(11, "success", 0);
    assertEquals(Collections.singleton(12L), registry.runningTasks());
    end(12, "killed", 0);
    assertEquals(Collections.emptySet(), registry.runningTasks());
    assertEquals(0, registry.forgotten(), "it was over");
  }

  @Test
  void runningTasksBeyondLimitAreCounted() {
    for (long task = 100; task < 100 + StageRegistry.MAX_RUNNING; task++) {
      start(task);
    }
    assertEquals(StageRegistry.MAX_RUNNING + 2, registry.columns(3, 1).get("running_tasks"));
    assertEquals(2, registry.forgotten());
    for (long task = 100; task < 100 + StageRegistry.MAX_RUNNING; task++) {
      end(task, "success", 0);
    }
    assertEquals(2, registry.columns(3, 1).get("running_tasks"));
    assertEquals(new TreeSet<>(Arrays.asList(11L, 12L)), registry.runningTasks(3));
    start(50);
    assertEquals(2, registry.forgotten(), "there is room again");
  }

  @Test
  void oldestStagesAndJobsAreForgottenFirst() {
    for (int i = 10; i < 10 + 2 * StageRegistry.MAX_STAGES; i++) {
      registry.stageStarted(StageStarted.newBuilder().setStageId(i).setStageAttempt(0).build());
    }
    assertEquals(Collections.emptyMap(), registry.columns(3, 1));
    assertEquals(Collections.emptySet(), registry.runningTasks(3));
    for (int i = 10; i < 10 + 2 * StageRegistry.MAX_JOBS; i++) {
      registry.jobStarted(JobStarted.newBuilder().setJobId(i).addStageIds(i).build());
    }
    assertEquals(StageRegistry.MAX_JOBS, registry.runningJobs().size());
    assertEquals(Collections.emptySet(), registry.jobsOf(3));
    assertEquals(StageRegistry.MAX_STAGES + 1 + StageRegistry.MAX_JOBS + 2, registry.forgotten());
  }

  @Test
  void ageOfProgressIsThatOfTheMostSilentTask() {
    nowMs += 3_000;
    registry.taskProgressed(
        TaskProgress.newBuilder().setStageId(3).setStageAttempt(1).setTaskId(11).build());
    nowMs += 4_000;
    assertEquals(7_000, registry.progressAgeMs(3, 1), "task 12 has only started");
    end(12, "success", 0);
    assertEquals(4_000, registry.progressAgeMs(3, 1));
    end(11, "success", 0);
    assertEquals(0, registry.progressAgeMs(3, 1));
  }

  private static JobStarted job(int id, String group, String... tags) {
    return JobStarted.newBuilder()
        .setJobId(id)
        .addStageIds(id)
        .setJobGroup(group)
        .addAllJobTags(Arrays.asList(tags))
        .build();
  }

  @Test
  void jobsAreFoundByQueryTagAndGroup() {
    registry.jobStarted(job(10, "nightly", "etl").toBuilder().setSqlExecutionId(7).build());
    registry.jobStarted(job(11, "", "etl"));

    assertEquals(Collections.singleton(10), registry.jobsOfExecution(7));
    assertEquals(new TreeSet<>(Arrays.asList(10, 11)), registry.jobsOfTag("etl"));
    assertEquals(Collections.singleton(10), registry.jobsOfTag("nightly"));
  }

  @Test
  void ownersAreSessionsElseJobGroups() {
    registry.jobStarted(job(10, "", "SparkConnect_OperationTag_User_ann_Session_s1_Operation_o1"));
    registry.jobStarted(job(11, "", "SparkConnect_OperationTag_User_ann_Session_s1_Operation_o2"));
    registry.jobStarted(job(12, "", "SparkConnect_OperationTag_User_bob_Session_s2_Operation_o3"));
    registry.jobStarted(job(13, "g1"));
    registry.jobStarted(job(14, "g2"));
    registry.jobStarted(job(15, "b1").toBuilder().setSqlExecutionId(9).build());
    registry.jobStarted(job(16, "b2").toBuilder().setSqlExecutionId(9).build());

    assertEquals(1, registry.owners(new TreeSet<>(Arrays.asList(10, 11))).size());
    assertEquals(2, registry.owners(new TreeSet<>(Arrays.asList(10, 12))).size());
    assertEquals(2, registry.owners(new TreeSet<>(Arrays.asList(13, 14))).size());
    assertEquals(1, registry.owners(new TreeSet<>(Arrays.asList(15, 16))).size(), "one query");
  }

  @Test
  void tasksOfSharedStagesBelongToNoSingleJob() {
    assertEquals(Collections.emptySet(), registry.runningTasksOnlyOf(Collections.singleton(4)));
    assertEquals(
        new TreeSet<>(Arrays.asList(11L, 12L)),
        registry.runningTasksOnlyOf(new TreeSet<>(Arrays.asList(4, 5))));
  }
}
