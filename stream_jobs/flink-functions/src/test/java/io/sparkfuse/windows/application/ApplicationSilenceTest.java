package io.sparkfuse.windows.application;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.AppLive;
import io.sparkfuse.contracts.ApplicationEnded;
import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.ExecutorAdded;
import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.contracts.PodChanged;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.TaskLive;
import io.sparkfuse.windows.wire.StageUpdate;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Tests the rows of dead drivers, stalled jobs, idle sessions, and processes that outlive their
 * application.
 */
class ApplicationSilenceTest {
  private static final String DRIVER = "driver-0a";

  /**
   * If the driver dies during a job, each window has only the application's own row, for one hour.
   * Nobody knows how the application ended, so its last status is unknown.
   */
  @Test
  void deadDriverIsReportedForAnHour() throws Exception {
    Scenario scenario = running();
    AppLive last = null;
    for (int window = 1; window <= 720; window++) {
      List<LiveRow> rows = scenario.pass();
      last = Scenario.application(rows);
      assertEquals(window < 720 ? "running" : "unknown", last.getStatus());

      assertEquals(1, rows.size());
      assertEquals(4 + window, rows.get(0).getRowSeq());
      assertEquals(window * Scenario.WINDOW_MS, last.getDriverSilentMs());
      assertEquals(window * Scenario.WINDOW_MS, last.getStalledMs());
    }

    assertEquals(1, last.getRunningJobs());
    assertFalse(last.hasIdleMs());
    assertNull(scenario.passForApplication());
    assertEquals(
        0,
        scenario
            .numbered(DRIVER)
            .stage(stage(1, 100, "moving"))
            .passForApplication()
            .getDriverSilentMs());
    assertNotNull(scenario.passForApplication());
  }

  /** The pod watcher reports about the pods of a dead driver too, so this shows no sign of life. */
  @Test
  void factsAboutPodsAreNoSignOfLife() throws Exception {
    Scenario scenario = running();
    scenario.pass();
    PodChanged.Builder pod = PodChanged.newBuilder().setExecutorId("1").setNode("worker-9");
    List<LiveRow> rows = scenario.fact(Fact.newBuilder().setPodChanged(pod)).pass();

    assertEquals(List.of("pod_changed", "app_live"), rows.stream().map(LiveRow::getView).toList());
    assertEquals("worker-9", rows.get(0).getPodChanged().getNode());
    assertEquals(2 * Scenario.WINDOW_MS, Scenario.application(rows).getDriverSilentMs());
  }

  /** While the broker or the windows job is down, no process becomes silent. */
  @Test
  void silenceDoesNotGrowWhileThePipelineIsDown() throws Exception {
    Scenario scenario = running();
    scenario.pass();
    AppLive after = scenario.away(7200).passForApplication();

    assertEquals(10_000, after.getDriverSilentMs());
    assertEquals(10_000, after.getStalledMs());
  }

  /**
   * Ended tasks, rising counters and CPU time are progress; a task that only waits makes no
   * progress.
   */
  @Test
  void applicationIsStalledUntilItProgresses() throws Exception {
    Scenario scenario = running();
    scenario.stage(stage(1, 100, "moving")).passForApplication();
    AppLive waits = scenario.numbered(DRIVER).stage(stage(1, 100, "idle")).passForApplication();
    AppLive waitsOn = scenario.numbered(DRIVER).stage(stage(1, 100, "idle")).passForApplication();
    AppLive counts = scenario.numbered(DRIVER).stage(stage(1, 101, "idle")).passForApplication();
    AppLive waitsAgain =
        scenario.numbered(DRIVER).stage(stage(1, 101, "idle")).passForApplication();
    AppLive works = scenario.numbered(DRIVER).stage(stage(1, 101, "busy")).passForApplication();
    scenario.numbered(DRIVER).stage(stage(1, 101, "idle")).passForApplication();
    AppLive ends = scenario.numbered(DRIVER).stage(stage(2, 101, "idle")).passForApplication();

    assertEquals(5000, waits.getStalledMs());
    assertEquals(10_000, waitsOn.getStalledMs());
    assertEquals(0, counts.getStalledMs());
    assertEquals(5000, waitsAgain.getStalledMs());
    assertEquals(0, works.getStalledMs());
    assertEquals(0, ends.getStalledMs());
    assertEquals(0, ends.getDriverSilentMs());
  }

  /** A task that makes progress counts in windows in which it has no row, too. */
  @Test
  void movingTaskWithoutARowIsProgress() throws Exception {
    Scenario scenario = running();
    scenario.stage(stage(1, 100, "idle")).passForApplication();
    StageUpdate.Builder moves = stage(1, 100, "idle").clearTasks().setOtherTasksMoved(true);
    AppLive runs = scenario.numbered(DRIVER).stage(moves).passForApplication();

    assertEquals(0, runs.getStalledMs());
  }

  /** An event log does not report running tasks, so the application never counts as stalled. */
  @Test
  void eventLogNeverStalls() throws Exception {
    Scenario scenario = new Scenario().numbered("shipper-1").fact(started()).fact(job(1));
    scenario.pass();
    AppLive quiet = scenario.passForApplication();

    assertNotNull(quiet);
    assertFalse(quiet.hasStalledMs());
    assertFalse(quiet.hasDriverSilentMs());
  }

  /** An application is idle from its start to its first job, and after its last job. */
  @Test
  void applicationIsIdleBetweenJobs() throws Exception {
    Scenario scenario = new Scenario().numbered(DRIVER).fact(started());
    AppLive start = scenario.passForApplication();
    AppLive before = scenario.passForApplication();
    AppLive runs = scenario.fact(job(1)).passForApplication();
    AppLive runsOn = scenario.passForApplication();
    AppLive ended = scenario.fact(jobEnded()).passForApplication();
    AppLive after = scenario.passForApplication();

    assertEquals(0, start.getIdleMs());
    assertEquals(5000, before.getIdleMs());
    assertFalse(before.hasStalledMs());
    assertFalse(runs.hasIdleMs());
    assertEquals(5000, runsOn.getStalledMs());
    assertEquals(0, ended.getIdleMs());
    assertEquals(5000, after.getIdleMs());
  }

  /** Processes that are active after the end of their application are reported. */
  @Test
  void processesOutliveTheirApplication() throws Exception {
    Scenario scenario = running();
    scenario.fact(jobEnded());
    AppLive end = scenario.numbered(DRIVER).fact(ended()).passForApplication();
    AppLive last = null;
    // Longer than the grace period of an application; an active one is kept.
    for (int window = 0; window < 720; window++) {
      last = scenario.sample(ExecutorSample.newBuilder().setExecutorId("1")).passForApplication();
    }
    AppLive fallsSilent = scenario.passForApplication();
    int more = 0;
    while (scenario.passForApplication() != null) {
      more++;
    }

    assertFalse(end.hasOutlivedMs());
    assertEquals("succeeded", last.getStatus());
    assertEquals(3_600_000, last.getOutlivedMs());
    assertFalse(last.hasDriverSilentMs());
    assertFalse(last.hasIdleMs());
    assertFalse(last.hasStalledMs());
    assertEquals(3_605_000, fallsSilent.getOutlivedMs());
    assertTrue(more * Scenario.WINDOW_MS < ApplicationSilence.GONE_MS, more + " windows more");
  }

  /**
   * While a collector is switched off, its process does not count as silent, and the application
   * not as stalled.
   */
  @Test
  void nothingIsSilentWhileTheCollectorIsOff() throws Exception {
    Scenario scenario = running();
    scenario.sample(ExecutorSample.newBuilder().setExecutorId("1").setRunningTasks(4)).pass();
    CollectorHealth.Builder off =
        CollectorHealth.newBuilder().setProtection("open").setProtectionReason("switched off");
    for (int window = 1; window <= 100; window++) {
      List<LiveRow> rows = scenario.numbered(DRIVER).health(DRIVER, off).pass();

      assertEquals(List.of(), Scenario.executors(rows));
      assertFalse(Scenario.application(rows).hasStalledMs());
      assertFalse(Scenario.application(rows).hasIdleMs());
      assertEquals(0, Scenario.application(rows).getDriverSilentMs());
    }
    CollectorHealth.Builder on = CollectorHealth.newBuilder().setProtection("closed");
    List<LiveRow> first = scenario.numbered(DRIVER).health(DRIVER, on).pass();
    scenario.sample(ExecutorSample.newBuilder().setExecutorId("1").setRunningTasks(4)).pass();
    List<LiveRow> silent = scenario.numbered(DRIVER).health(DRIVER, on).pass();

    assertEquals(List.of(), Scenario.executors(first));
    assertEquals(5000, Scenario.executors(silent).get(0).getSilentMs());
  }

  /**
   * If the end of a job may have been lost, the application does not count as stalled, because it
   * may be idle. As soon as the next job starts, the running jobs are known again.
   */
  @Test
  void lostEndOfJobIsNotAStall() throws Exception {
    Scenario scenario = running();
    scenario.afterLost(DRIVER, 0).passForApplication();
    AppLive complete = scenario.numbered(DRIVER).passForApplication();
    AppLive lost = scenario.afterLost(DRIVER, 1).passForApplication();
    AppLive later = scenario.numbered(DRIVER).passForApplication();
    scenario.fact(job(2)).afterLost(DRIVER, 0).pass();
    AppLive next = scenario.numbered(DRIVER).passForApplication();
    CollectorHealth.Builder dropped = CollectorHealth.newBuilder().setDroppedReserved(1);
    AppLive full = scenario.numbered(DRIVER).health(DRIVER, dropped).passForApplication();

    assertTrue(complete.hasStalledMs());
    assertFalse(lost.hasStalledMs());
    assertFalse(later.hasStalledMs());
    assertFalse(later.hasIdleMs());
    assertEquals(0, later.getRunningJobs());
    assertTrue(next.hasStalledMs());
    assertEquals(1, next.getRunningJobs());
    assertFalse(full.hasStalledMs());
  }

  /**
   * If the collector was switched off during a job, no application is stalled or idle until a job
   * starts or ends, because the running jobs are unknown.
   */
  @Test
  void unknownJobsDoNotStall() throws Exception {
    Scenario scenario = running();
    CollectorHealth.Builder off =
        CollectorHealth.newBuilder().setProtection("open").setProtectionReason("switched off");
    scenario.numbered(DRIVER).health(DRIVER, off).pass();
    CollectorHealth.Builder on = CollectorHealth.newBuilder().setProtection("closed");
    AppLive unknown = null;
    for (int window = 1; window <= 100; window++) {
      unknown = scenario.numbered(DRIVER).health(DRIVER, on).passForApplication();
    }
    AppLive runs = scenario.numbered(DRIVER).fact(job(7)).passForApplication();
    AppLive runsOn = scenario.numbered(DRIVER).passForApplication();
    AppLive ended =
        scenario
            .fact(
                Fact.newBuilder().setJobEnded(JobEnded.newBuilder().setJobId(7).setSucceeded(true)))
            .passForApplication();
    AppLive idle = scenario.numbered(DRIVER).passForApplication();

    assertFalse(unknown.hasStalledMs());
    assertFalse(unknown.hasIdleMs());
    assertEquals(0, runs.getStalledMs());
    assertEquals(5000, runsOn.getStalledMs());
    assertEquals(0, ended.getIdleMs());
    assertEquals(5000, idle.getIdleMs());
  }

  /**
   * Silent executors are still reported while self-protection reduces the work of the collector.
   */
  @Test
  void reducedCollectorReportsSilence() throws Exception {
    Scenario scenario = running();
    scenario.sample(ExecutorSample.newBuilder().setExecutorId("1").setRunningTasks(4)).pass();
    CollectorHealth.Builder less =
        CollectorHealth.newBuilder().setProtection("open").setProtectionReason("heap");
    List<LiveRow> rows = scenario.numbered(DRIVER).health(DRIVER, less).pass();

    assertEquals(5000, Scenario.executors(rows).get(0).getSilentMs());
  }

  /**
   * After its end, an application with complete facts has no rows, and ticks alone produce none.
   */
  @Test
  void completeEndHasNoMoreRows() throws Exception {
    Scenario scenario = running();
    scenario.numbered(DRIVER).fact(jobEnded()).fact(ended()).passForApplication();

    assertNull(scenario.passForApplication());
    assertEquals(List.of(), new Scenario().pass());
  }

  /**
   * If facts are missing, an application still has rows for a while after its end, because late
   * facts can arrive.
   */
  @Test
  void incompleteEndHasRowsForAWhile() throws Exception {
    Scenario jobLeft = running();
    jobLeft.numbered(DRIVER).fact(ended()).passForApplication();
    Scenario mended = running();
    mended.numbered(DRIVER).fact(ended()).passForApplication();
    mended.fact(jobEnded()).passForApplication();
    int more = 0;
    while (jobLeft.passForApplication() != null) {
      more++;
    }

    assertEquals(ApplicationSilence.SETTLES_MS, (more + 1) * Scenario.WINDOW_MS);
    assertNull(mended.passForApplication());
  }

  /**
   * An application that ends during a job has failed, whatever ended it. If Spark reports the end
   * of the job later, that end decides.
   */
  @Test
  void endDuringAJobIsAFailure() throws Exception {
    Scenario cancelled = running();
    AppLive stopped = cancelled.numbered(DRIVER).fact(ended()).passForApplication();
    AppLive after = cancelled.fact(jobFailed()).passForApplication();
    Scenario late = running();
    late.numbered(DRIVER).fact(ended()).passForApplication();
    AppLive mended = late.fact(jobEnded()).passForApplication();

    assertEquals(List.of("failed", "failed"), List.of(stopped.getStatus(), after.getStatus()));
    assertEquals("succeeded", mended.getStatus());
  }

  /** A job that failed makes the application fail, also if only its end counts the job. */
  @Test
  void failedJobIsAFailure() throws Exception {
    AppLive failed = running().fact(jobFailed()).fact(ended()).passForApplication();
    Fact.Builder counts = ended();
    counts.getApplicationEndedBuilder().setFailedJobs(1);
    AppLive counted = running().fact(jobEnded()).fact(counts).passForApplication();

    assertEquals(List.of("failed", "failed"), List.of(failed.getStatus(), counted.getStatus()));
  }

  /** If facts about jobs were lost, nobody knows whether the application succeeded. */
  @Test
  void endAfterLostJobsIsUnknown() throws Exception {
    Scenario scenario = running();
    scenario.afterLost(DRIVER, 0).passForApplication();
    scenario.afterLost(DRIVER, 1).passForApplication();

    assertEquals("unknown", scenario.fact(ended()).passForApplication().getStatus());
  }

  /** Tasks without an end are counted when the application ends. */
  @Test
  void countsTasksWithoutAnEnd() throws Exception {
    Scenario scenario = running();
    AppLive runs = scenario.stage(stage(1, 0, "moving")).passForApplication();
    AppLive end = scenario.fact(ended()).passForApplication();

    assertFalse(runs.hasUnfinishedTasks());
    assertEquals(3, end.getUnfinishedTasks());
  }

  /** Totals include stages that were removed, and are rounded only after they are summed. */
  @Test
  void totalsIncludeRemovedStages() throws Exception {
    Scenario scenario = running();
    scenario.stage(ended(1)).stage(ended(2)).passForApplication();
    AppLive later = scenario.away(1000).stage(ended(3)).passForApplication();

    assertEquals(4, later.getFinishedCpuMs(), "three times 1.5 ms");
    assertEquals(33, later.getWorkBytes());
    assertEquals(66, later.getWorkRecords());
    assertEquals(3, later.getEndedStages());
  }

  /**
   * Returns a scenario that emitted four rows: the starts of application, executor and job, and the
   * application's row.
   */
  private static Scenario running() throws Exception {
    Scenario scenario = new Scenario().numbered(DRIVER).fact(started()).fact(job(1));
    scenario.fact(
        Fact.newBuilder().setExecutorAdded(ExecutorAdded.newBuilder().setExecutorId("1")));

    assertEquals(4, scenario.pass().size());
    return scenario;
  }

  private static Fact.Builder started() {
    return Fact.newBuilder()
        .setApplicationStarted(ApplicationStarted.newBuilder().setName("orders"));
  }

  private static Fact.Builder ended() {
    return Fact.newBuilder().setApplicationEnded(ApplicationEnded.newBuilder().setEndedMs(950_000));
  }

  private static Fact.Builder jobEnded() {
    return Fact.newBuilder().setJobEnded(JobEnded.newBuilder().setJobId(1).setSucceeded(true));
  }

  private static Fact.Builder jobFailed() {
    return Fact.newBuilder().setJobEnded(JobEnded.newBuilder().setJobId(1).setSucceeded(false));
  }

  private static Fact.Builder job(int id) {
    return Fact.newBuilder().setJobStarted(JobStarted.newBuilder().setJobId(id));
  }

  private static StageUpdate.Builder stage(long finished, long runningBytes, String activity) {
    return StageUpdate.newBuilder()
        .setStage(
            StageLive.newBuilder()
                .setStageId(1)
                .setStatus("running")
                .setRunningTasks(3)
                .setFinishedTasks(finished)
                .setRunningInputBytes(runningBytes))
        .addTasks(TaskLive.newBuilder().setTaskId(7).setActivity(activity));
  }

  private static StageUpdate.Builder ended(int id) {
    return StageUpdate.newBuilder()
        .setFinishedCpuNs(1_500_000)
        .setStage(
            StageLive.newBuilder()
                .setStageId(id)
                .setStatus("succeeded")
                .setFinishedInputBytes(10)
                .setFinishedShuffleReadBytes(1)
                .setFinishedInputRecords(20)
                .setFinishedShuffleReadRecords(2));
  }
}
