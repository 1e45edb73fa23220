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
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.TaskLive;
import io.sparkfuse.windows.wire.StageUpdate;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * What is said when nothing is said: dead drivers, hung jobs, idle sessions, processes that stay.
 */
class ApplicationAbsenceTest {
  private static final String DRIVER = "driver-0a";

  /**
   * A driver that dies in the middle of a job leaves a row in each window for an hour, and its row
   * only; then it is given up, until it speaks again.
   */
  @Test
  void aDeadDriverIsTold() throws Exception {
    Scenario story = running();
    AppLive last = null;
    for (int window = 1; window <= 720; window++) {
      List<LiveRow> rows = story.pass();
      last = Scenario.application(rows);

      assertEquals(1, rows.size());
      assertEquals(4 + window, rows.get(0).getRowSeq());
      assertEquals(window * Scenario.WINDOW_MS, last.getDriverSilentMs());
      assertEquals(window * Scenario.WINDOW_MS, last.getStalledMs());
    }

    assertEquals("running", last.getStatus());
    assertEquals(1, last.getRunningJobs());
    assertFalse(last.hasIdleMs());
    assertNull(story.passed());
    assertEquals(0, story.word(DRIVER).stage(stage(1, 100, "moving")).passed().getDriverSilentMs());
    assertNotNull(story.passed());
  }

  /** While broker or job are away nobody can be heard, so nobody falls silent. */
  @Test
  void noTimePassesWhileThePipelineIsAway() throws Exception {
    Scenario story = running();
    story.pass();
    AppLive after = story.away(7200).passed();

    assertEquals(10_000, after.getDriverSilentMs());
    assertEquals(10_000, after.getStalledMs());
  }

  /** What moves: a task that ends, a counter that rises, CPU that is used. What waits does not. */
  @Test
  void stalledUntilAnythingMoves() throws Exception {
    Scenario story = running();
    story.stage(stage(1, 100, "moving")).passed();
    AppLive waits = story.word(DRIVER).stage(stage(1, 100, "idle")).passed();
    AppLive waitsOn = story.word(DRIVER).stage(stage(1, 100, "idle")).passed();
    AppLive counts = story.word(DRIVER).stage(stage(1, 101, "idle")).passed();
    AppLive waitsAgain = story.word(DRIVER).stage(stage(1, 101, "idle")).passed();
    AppLive works = story.word(DRIVER).stage(stage(1, 101, "busy")).passed();
    story.word(DRIVER).stage(stage(1, 101, "idle")).passed();
    AppLive ends = story.word(DRIVER).stage(stage(2, 101, "idle")).passed();

    assertEquals(5000, waits.getStalledMs());
    assertEquals(10_000, waitsOn.getStalledMs());
    assertEquals(0, counts.getStalledMs());
    assertEquals(5000, waitsAgain.getStalledMs());
    assertEquals(0, works.getStalledMs());
    assertEquals(0, ends.getStalledMs());
    assertEquals(0, ends.getDriverSilentMs());
  }

  /** An event log does not tell of running tasks, so it is no evidence that they stand still. */
  @Test
  void anEventLogSaysNothingOfStandingStill() throws Exception {
    Scenario story = new Scenario().word("shipper-1").fact(started()).fact(job(1));
    story.pass();
    AppLive quiet = story.passed();

    assertNotNull(quiet);
    assertFalse(quiet.hasStalledMs());
    assertFalse(quiet.hasDriverSilentMs());
  }

  /** An application is idle from its start to its first job, and from its last job on. */
  @Test
  void idleBetweenJobs() throws Exception {
    Scenario story = new Scenario().word(DRIVER).fact(started());
    AppLive start = story.passed();
    AppLive before = story.passed();
    AppLive runs = story.fact(job(1)).passed();
    AppLive runsOn = story.passed();
    AppLive ended = story.fact(jobEnded()).passed();
    AppLive after = story.passed();

    assertEquals(0, start.getIdleMs());
    assertEquals(5000, before.getIdleMs());
    assertFalse(before.hasStalledMs());
    assertFalse(runs.hasIdleMs());
    assertEquals(5000, runsOn.getStalledMs());
    assertEquals(0, ended.getIdleMs());
    assertEquals(5000, after.getIdleMs());
  }

  /** Processes that speak on behind the end of their application are told as long as they do. */
  @Test
  void processesOutliveTheirApplication() throws Exception {
    Scenario story = running();
    AppLive end = story.word(DRIVER).fact(ended()).passed();
    AppLive last = null;
    // Longer than the grace of an application: what speaks is not forgotten.
    for (int window = 0; window < 720; window++) {
      last = story.sample(ExecutorSample.newBuilder().setExecutorId("1")).passed();
    }
    AppLive fallsSilent = story.passed();
    int more = 0;
    while (story.passed() != null) {
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

  /** A collector that somebody switched off tells of nothing, and nothing follows from that. */
  @Test
  void whoIsNotAskedIsNotSilent() throws Exception {
    Scenario story = running();
    story.sample(ExecutorSample.newBuilder().setExecutorId("1").setRunningTasks(4)).pass();
    CollectorHealth.Builder off =
        CollectorHealth.newBuilder().setProtection("open").setProtectionReason("switched off");
    for (int window = 1; window <= 100; window++) {
      List<LiveRow> rows = story.word(DRIVER).health(DRIVER, off).pass();

      assertEquals(List.of(), Scenario.executors(rows));
      assertFalse(Scenario.application(rows).hasStalledMs());
      assertFalse(Scenario.application(rows).hasIdleMs());
      assertEquals(0, Scenario.application(rows).getDriverSilentMs());
    }
    CollectorHealth.Builder on = CollectorHealth.newBuilder().setProtection("closed");
    List<LiveRow> first = story.word(DRIVER).health(DRIVER, on).pass();
    story.sample(ExecutorSample.newBuilder().setExecutorId("1").setRunningTasks(4)).pass();
    List<LiveRow> silent = story.word(DRIVER).health(DRIVER, on).pass();

    assertEquals(List.of(), Scenario.executors(first));
    assertEquals(5000, Scenario.executors(silent).get(0).getSilentMs());
  }

  /**
   * The job that ran when it was switched off may have ended since: nobody knows until one tells.
   */
  @Test
  void whatEndedUnseenDoesNotStandStill() throws Exception {
    Scenario story = running();
    CollectorHealth.Builder off =
        CollectorHealth.newBuilder().setProtection("open").setProtectionReason("switched off");
    story.word(DRIVER).health(DRIVER, off).pass();
    CollectorHealth.Builder on = CollectorHealth.newBuilder().setProtection("closed");
    AppLive unknown = null;
    for (int window = 1; window <= 100; window++) {
      unknown = story.word(DRIVER).health(DRIVER, on).passed();
    }
    AppLive runs = story.word(DRIVER).fact(job(7)).passed();
    AppLive runsOn = story.word(DRIVER).passed();
    AppLive ended =
        story
            .fact(
                Fact.newBuilder().setJobEnded(JobEnded.newBuilder().setJobId(7).setSucceeded(true)))
            .passed();
    AppLive idle = story.word(DRIVER).passed();

    assertFalse(unknown.hasStalledMs());
    assertFalse(unknown.hasIdleMs());
    assertEquals(0, runs.getStalledMs());
    assertEquals(5000, runsOn.getStalledMs());
    assertEquals(0, ended.getIdleMs());
    assertEquals(5000, idle.getIdleMs());
  }

  /** One that only looks at less hears its executors as ever. */
  @Test
  void aCollectorThatStepsBackStillHearsSilence() throws Exception {
    Scenario story = running();
    story.sample(ExecutorSample.newBuilder().setExecutorId("1").setRunningTasks(4)).pass();
    CollectorHealth.Builder less =
        CollectorHealth.newBuilder().setProtection("open").setProtectionReason("heap");
    List<LiveRow> rows = story.word(DRIVER).health(DRIVER, less).pass();

    assertEquals(5000, Scenario.executors(rows).get(0).getSilentMs());
  }

  /** An application that just ends says nothing more, and neither does one that only ticks saw. */
  @Test
  void theEndIsTheEnd() throws Exception {
    Scenario story = running();
    story.word(DRIVER).fact(jobEnded()).fact(ended()).passed();

    assertNull(story.passed());
    assertEquals(List.of(), new Scenario().pass());
  }

  /** What is not whole at its end is told for a while, in which the rest may come. */
  @Test
  void anEndThatIsNotWholeIsToldOn() throws Exception {
    Scenario jobLeft = running();
    jobLeft.word(DRIVER).fact(ended()).passed();
    Scenario mended = running();
    mended.word(DRIVER).fact(ended()).passed();
    mended.fact(jobEnded()).passed();
    int more = 0;
    while (jobLeft.passed() != null) {
      more++;
    }

    assertEquals(ApplicationSilence.SETTLES_MS, (more + 1) * Scenario.WINDOW_MS);
    assertNull(mended.passed());
  }

  /** Tasks whose end never came are counted once the application ended. */
  @Test
  void tasksWithoutAnEndAreCounted() throws Exception {
    Scenario story = running();
    AppLive runs = story.stage(stage(1, 0, "moving")).passed();
    AppLive end = story.fact(ended()).passed();

    assertFalse(runs.hasUnfinishedTasks());
    assertEquals(3, end.getUnfinishedTasks());
  }

  /** Totals are those of all stages, over the stages that were forgotten since, rounded once. */
  @Test
  void totalsOutliveTheirStages() throws Exception {
    Scenario story = running();
    story.stage(ended(1)).stage(ended(2)).passed();
    AppLive later = story.away(1000).stage(ended(3)).passed();

    assertEquals(4, later.getFinishedCpuMs(), "three times 1.5 ms");
    assertEquals(33, later.getWorkBytes());
    assertEquals(66, later.getWorkRecords());
    assertEquals(3, later.getEndedStages());
  }

  /** Four rows so far: the starts of application, executor and job, and the application's own. */
  private static Scenario running() throws Exception {
    Scenario story = new Scenario().word(DRIVER).fact(started()).fact(job(1));
    story.fact(Fact.newBuilder().setExecutorAdded(ExecutorAdded.newBuilder().setExecutorId("1")));

    assertEquals(4, story.pass().size());
    return story;
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
