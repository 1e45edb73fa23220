package io.sparkfuse.spark.counters;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.HookCounters;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.contracts.TaskStarted;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests the documented counters of the hook on one stage of query 8 with tasks 11 and 12. */
class HookCountersTest {
  private long nowMs = 1_000;
  private final StageRegistry registry = new StageRegistry(() -> nowMs);

  @BeforeEach
  void runningStage() {
    registry.executorAdded("1", 4);
    registry.jobStarted(
        JobStarted.newBuilder().setJobId(4).setSqlExecutionId(8).addStageIds(3).build());
    registry.stageStarted(
        StageStarted.newBuilder().setStageId(3).setStageAttempt(0).setNumTasks(5).build());
    start(11);
    start(12);
  }

  private void start(long task) {
    registry.taskStarted(
        TaskStarted.newBuilder().setStageId(3).setStageAttempt(0).setTaskId(task).build());
  }

  private static TaskProgress.Builder progress(long task) {
    return TaskProgress.newBuilder().setStageId(3).setStageAttempt(0).setTaskId(task);
  }

  private static TaskEnded.Builder ended(long task, String outcome) {
    return TaskEnded.newBuilder()
        .setStageId(3)
        .setStageAttempt(0)
        .setTaskId(task)
        .setOutcome(outcome)
        .setDurationMs(4_000);
  }

  private void fail(int index, String host, String failure, String reason) {
    registry.taskEnded(
        ended(90, "failed")
            .setTaskIndex(index)
            .setHost(host)
            .setFailureClass(failure)
            .setFailureReason(reason)
            .build());
  }

  private Map<String, Long> stage() {
    return registry.columns(3, 0);
  }

  @Test
  void eachDocumentedCounterExistsInItsScope() {
    registry.plan(0.04, 3_600_000L);
    registry.taskEnded(ended(12, "success").setInputBytes(10).build());
    registry.executorSampled(
        ExecutorSample.newBuilder().setExecutorId("1").setIntervalMs(10).build());
    registry.taskProgressed(
        progress(11).setStalledMs(5).setSinceSpillMs(1).setDiskSpilledBytes(7).build());
    Map<String, Map<String, Long>> found = new HashMap<>();
    found.put("task", registry.taskCounters(3, 0, 11));
    found.put("stage", stage());
    found.put("query", registry.queryCounters(8));
    found.put("application", registry.applicationCounters());
    for (HookCounters.Counter counter : HookCounters.COUNTERS) {
      assertTrue(found.get(counter.scope).containsKey(counter.name), counter.name);
    }
    for (String scope : new String[] {"task", "query", "application"}) {
      Set<String> documented =
          HookCounters.COUNTERS.stream()
              .filter(each -> each.scope.equals(scope))
              .map(each -> each.name)
              .collect(Collectors.toCollection(TreeSet::new));
      assertEquals(documented, new TreeSet<>(found.get(scope).keySet()));
    }
  }

  @Test
  void stuckTaskIsComparedWithSucceededTasks() {
    assertTrue(registry.taskCounters(3, 0, 11).isEmpty(), "the task has not reported");
    registry.taskProgressed(
        progress(11)
            .setStalledMs(400_000)
            .setAgeMs(500_000)
            .setActivity("idle")
            .setCpuSinceProgressMs(4_000)
            .build());
    assertNull(registry.taskCounters(3, 0, 11).get("task_stalled_ratio"), "no task succeeded");
    assertEquals(1, stage().get("moving_tasks"), "task 12 has not reported");
    registry.taskEnded(ended(12, "success").build());
    Map<String, Long> task = registry.taskCounters(3, 0, 11);

    assertEquals(100, task.get("task_stalled_ratio"));
    assertEquals(1, task.get("task_idle"));
    assertEquals(1, task.get("task_cpu_percent"));
    assertEquals(500_000, task.get("task_age_ms"));
    assertEquals(0, stage().get("moving_tasks"));
    assertEquals(3, stage().get("pending_tasks"));
    assertTrue(registry.taskCounters(3, 0, 12).isEmpty(), "the task has ended");
    assertTrue(registry.taskCounters(3, 1, 11).isEmpty(), "another attempt of the stage");
  }

  @Test
  void attemptsOfOneTaskThatFailInTheSameWayAreCounted() {
    fail(7, "a", "ValueError", "bad row 17 at port 4040");
    fail(7, "b", "ValueError", "bad row 17 at port 5050");
    fail(8, "c", "ValueError", "bad row 17 at port 5050");
    fail(7, "d", "ValueError", "no such table");
    fail(7, "d", "OutOfMemoryError", "bad row 17 at port 4040");

    assertEquals(2, stage().get("same_failure_attempts"));
    assertEquals(2, stage().get("same_failure_hosts"));
  }

  @Test
  void writtenBytesAreComparedWithReadBytes() {
    registry.taskProgressed(progress(11).setOutputBytes(700).setShuffleWriteBytes(200).build());
    assertNull(stage().get("written_ratio"), "nothing was read");
    registry.taskEnded(ended(12, "success").setInputBytes(9).setOutputBytes(100).build());

    assertEquals(1_000, stage().get("written_bytes"));
    assertEquals(900, stage().get("running_written_bytes"));
    assertEquals(111, stage().get("written_ratio"));
    assertEquals(1_000, registry.queryCounters(8).get("query_written_bytes"));
    assertEquals(1, registry.queryCounters(8).get("query_running_tasks"));
    assertTrue(registry.queryCounters(9).isEmpty());
  }

  @Test
  void coreTimeIsTheSumOverExecutors() {
    nowMs += 1_000;
    registry.executorAdded("2", 2);
    nowMs += 1_000;
    registry.executorRemoved("1", "Executor killed by driver.");
    nowMs += 1_000;

    assertEquals(4 * 2_000 + 2 * 2_000, application().get("application_core_ms"));
    assertEquals(2, application().get("application_peak_executors"));
    assertEquals(0, application().get("application_lost_executors"));
  }

  @Test
  void costIsTheCoreTimeTimesThePrice() {
    assertFalse(application().containsKey("application_cost"), "the price is not set");
    registry.plan(0.05, null);
    nowMs += 3_600_000 * 25 - 1;
    assertEquals(4, application().get("application_cost"), "4 cores for almost 25 hours");
    nowMs += 1;

    assertEquals(5, application().get("application_cost"));
  }

  @Test
  void lateTimeIsCountedFromTheDeadline() {
    assertFalse(application().containsKey("application_late_ms"), "there is no deadline");
    registry.plan(0, 600_000L);
    nowMs += 599_999;
    assertEquals(-1, application().get("application_late_ms"));
    assertEquals(0, application().get("application_late_ratio"));
    nowMs += 600_001;

    assertEquals(600_000, application().get("application_late_ms"));
    assertEquals(2, application().get("application_late_ratio"));
    assertFalse(application().containsKey("application_cost"), "a price of 0 is no price");
  }

  private Map<String, Long> application() {
    return registry.applicationCounters();
  }

  @Test
  void lostExecutorsAreCountedForTenMinutes() {
    for (int id = 10; id < 20; id++) {
      registry.executorAdded(String.valueOf(id), 1);
      registry.executorRemoved(String.valueOf(id), "Command exited with code 1");
    }
    registry.executorRemoved("unknown", "Command exited with code 1");
    registry.executorRemoved("1", "Executor decommission: worker exited");

    assertEquals(10, application().get("application_lost_executors"));
    assertEquals(5, application().get("application_lost_ratio"), "at most two at the same time");
    nowMs += 600_000;
    assertEquals(0, application().get("application_lost_executors"));
    assertEquals(600_000, application().get("application_since_success_ms"));
    registry.taskEnded(ended(12, "success").build());
    assertEquals(0, application().get("application_since_success_ms"));
  }

  @Test
  void garbageCollectionIsUnknownIfAnExecutorIsSilent() {
    registry.executorAdded("2", 4);
    registry.executorSampled(sample("1", 900));
    assertFalse(application().containsKey("application_gc_percent"), "executor 2 sent no sample");
    registry.executorSampled(sample("2", 100));
    assertEquals(50, application().get("application_gc_percent"));
    nowMs += 30_001;
    registry.executorSampled(sample("1", 900));

    assertFalse(application().containsKey("application_gc_percent"), "executor 2 is silent");
  }

  private static ExecutorSample sample(String id, long gcMs) {
    return ExecutorSample.newBuilder()
        .setExecutorId(id)
        .setIntervalMs(1_000)
        .setGcDeltaMs(gcMs)
        .build();
  }

  @Test
  void blindnessOfTheApplicationIsThatOfItsSilentMostTask() {
    nowMs += 25_000;
    start(13);

    assertEquals(25_000, registry.progressAgeMs());
    assertFalse(registry.wasIncomplete());
    registry.setIncomplete(true);
    registry.setIncomplete(false);
    assertTrue(registry.wasIncomplete(), "the sums of the application lack the skipped events");
  }
}
