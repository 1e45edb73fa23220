package io.sparkfuse.windows.application;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.AppLive;
import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.ExecutorAdded;
import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.windows.executors.ApplicationExecutors;
import org.junit.jupiter.api.Test;

/** Tests that the state of an application that never ends stays small, although facts get lost. */
class ApplicationBoundsTest {
  private static final int WINDOWS_PER_HOUR = (int) (3_600_000 / Scenario.WINDOW_MS);
  private static final int WINDOWS_PER_DAY = 24 * WINDOWS_PER_HOUR;
  private final Scenario scenario = new Scenario();
  private long driverNumber;

  private AppLive passHours(double hours) throws Exception {
    AppLive last = null;
    for (int window = 0; window < hours * WINDOWS_PER_HOUR; window++) {
      last = scenario.numbers("driver-1", driverNumber++).passForApplication();
    }
    return last;
  }

  private void executorsSpeak(int from, int to) {
    for (int id = from; id < to; id++) {
      scenario
          .numbers("executor-" + id + "-0a", 0, 1, 3)
          .health("executor-" + id + "-0a", CollectorHealth.newBuilder().setDroppedBulk(2));
    }
  }

  /**
   * Of executors that are gone, the sums of their facts remain, and the completeness does not
   * change.
   */
  @Test
  void lanesOfGoneExecutorsAreSummedUp() throws Exception {
    executorsSpeak(0, 300);
    scenario.passForApplication();
    int all = scenario.stateBytes();
    executorsSpeak(300, 600);
    passHours(1);
    AppLive gone = passHours(1);

    assertEquals(600 * 3 + driverNumber, gone.getFactsSeen());
    assertEquals(600 * 4 + driverNumber, gone.getFactsExpected());
    assertEquals(600 * 2, gone.getFactsDropped());
    assertTrue(scenario.stateBytes() < 400, scenario.stateBytes() + " bytes");
    assertTrue(all > 300 * 40, all + " bytes");
  }

  /**
   * While an executor sends facts, its lost facts and those that arrive late are counted exactly.
   */
  @Test
  void lanesOfPresentExecutorsAreKept() throws Exception {
    scenario.numbers("executor-1-0a", 0, 1, 3).passForApplication();
    for (int time = 0; time < 4; time++) {
      passHours(0.9);
      scenario.numbers("executor-1-0a", 4 + time).passForApplication();
    }
    AppLive late = scenario.numbers("executor-1-0a", 2).passForApplication();

    assertEquals(late.getFactsExpected(), late.getFactsSeen());
  }

  /** An executor that returns can only make the completeness too low. */
  @Test
  void returningExecutorLowersTheCompleteness() throws Exception {
    scenario.fact(Fact.newBuilder().setApplicationStarted(ApplicationStarted.newBuilder()));
    scenario.numbers("executor-1-0a", 0, 1, 2).passForApplication();
    passHours(2);
    AppLive returned = scenario.numbers("executor-1-0a", 3).passForApplication();

    assertEquals(4 + driverNumber, returned.getFactsSeen());
    assertEquals(3 + 4 + driverNumber, returned.getFactsExpected());
  }

  /** Lanes of drivers and shippers are silent while nothing happens, so they are kept. */
  @Test
  void lanesOfOtherCollectorsAreKept() throws Exception {
    scenario.numbers("shipper-1", 0, 1).passForApplication();
    passHours(3);
    AppLive later = scenario.numbers("shipper-1", 2).passForApplication();

    assertEquals(later.getFactsExpected(), later.getFactsSeen());
  }

  @Test
  void stageWhoseEndWasLostCountsAsEndedAfterTwoDays() throws Exception {
    scenario.stage(running(1).setRunningTasks(5).setFinishedTasks(7)).passForApplication();
    scenario.away(2 * WINDOWS_PER_DAY - 2);
    AppLive before = scenario.stage(running(2)).passForApplication();
    AppLive after = scenario.away(1).stage(running(2)).passForApplication();

    assertEquals(2, before.getRunningStages());
    assertEquals(5, before.getRunningTasks());
    assertEquals(1, after.getRunningStages());
    assertEquals(0, after.getRunningTasks());
    assertEquals(7, after.getFinishedTasks());
    assertEquals(1, after.getEndedStages());
  }

  @Test
  void numberOfStagesIsLimited() throws Exception {
    int many = ApplicationStages.MAX_STAGES + 500;
    for (int id = 0; id < many; id++) {
      scenario.stage(running(id).setFinishedTasks(1));
    }
    scenario.passForApplication();
    AppLive row = scenario.stage(running(many).setFinishedTasks(1)).passForApplication();

    assertEquals(ApplicationStages.MAX_STAGES + 1, row.getRunningStages());
    assertEquals(many + 1, row.getFinishedTasks());
  }

  @Test
  void executorWhoseRemovalWasLostIsGoneAfterADay() throws Exception {
    scenario.fact(added("1")).fact(added("2")).sample(sample("1")).passForApplication();
    AppLive before = passHours(23);
    AppLive after = passHours(2);

    assertEquals(2, before.getExecutors());
    assertEquals(1, after.getExecutors(), "an executor that never sampled is not silent");
  }

  @Test
  void numberOfPresentExecutorsIsLimited() throws Exception {
    for (int id = 0; id < ApplicationExecutors.MAX_PRESENT + 10; id++) {
      scenario.fact(added("e" + id));
    }

    assertEquals(ApplicationExecutors.MAX_PRESENT, scenario.passForApplication().getExecutors());
  }

  @Test
  void numberOfRunningJobsIsLimited() throws Exception {
    for (int id = 0; id < ApplicationJobs.MAX_JOBS + 10; id++) {
      scenario.fact(Fact.newBuilder().setJobStarted(JobStarted.newBuilder().setJobId(id)));
    }

    assertEquals(ApplicationJobs.MAX_JOBS, scenario.passForApplication().getRunningJobs());
  }

  private static StageLive.Builder running(int id) {
    return StageLive.newBuilder().setStageId(id).setStatus("running");
  }

  private static Fact.Builder added(String id) {
    return Fact.newBuilder().setExecutorAdded(ExecutorAdded.newBuilder().setExecutorId(id));
  }

  private static ExecutorSample.Builder sample(String id) {
    return ExecutorSample.newBuilder().setExecutorId(id).setHeapUsedBytes(1);
  }
}
