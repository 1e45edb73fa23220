package io.sparkfuse.windows.application;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.ApplicationEnded;
import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.ExecutorAdded;
import io.sparkfuse.contracts.ExecutorLive;
import io.sparkfuse.contracts.ExecutorRemoved;
import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.GcPause;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.contracts.ResourceProfileAdded;
import io.sparkfuse.windows.executors.ApplicationExecutors;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests the rows of active, silent and removed executors. */
class ApplicationExecutorsTest {
  private static final long MIB = 1L << 20;

  /**
   * In each window with facts of the application, a silent executor has a row with its last gauges.
   */
  @Test
  void silentExecutorRepeatsItsLastGauges() throws Exception {
    Scenario scenario = new Scenario().fact(added("1")).fact(added("2"));
    scenario.sample(sample("1", 10)).sample(sample("2", 20).setRunningTasks(3).setGcPauseMaxMs(7));
    List<ExecutorLive> both = Scenario.executors(scenario.pass());
    scenario.sample(sample("1", 11));
    List<ExecutorLive> silent = Scenario.executors(scenario.pass());
    List<ExecutorLive> none = Scenario.executors(scenario.pass());
    scenario.away(720).numbered("driver-1");
    List<ExecutorLive> later = Scenario.executors(scenario.pass());

    assertEquals(List.of("1", "2"), ids(both));
    assertEquals(List.of(0L, 0L), both.stream().map(ExecutorLive::getSilentMs).toList());
    assertEquals(7, both.get(1).getGcPauseMaxMs());
    assertEquals(List.of("1", "2"), ids(silent));
    assertEquals(5000, silent.get(1).getSilentMs());
    assertEquals(20, silent.get(1).getHeapUsedBytes());
    assertEquals(3, silent.get(1).getRunningTasks());
    assertFalse(silent.get(1).hasGcPauseMaxMs(), "a pause is reported once");
    assertEquals(List.of(), none);
    assertEquals(
        List.of(5000L, 10_000L),
        later.stream().map(ExecutorLive::getSilentMs).toList(),
        "only windows with facts of the application count");
  }

  /**
   * A late fact emits its window again, but does not advance the clock, so no executor becomes
   * silent.
   */
  @Test
  void lateFactMakesNoExecutorSilent() throws Exception {
    Scenario scenario = new Scenario().fact(added("1")).sample(sample("1", 10));
    scenario.pass();
    scenario.fact(added("2"));
    List<LiveRow> late = scenario.passAgain();

    assertEquals(
        List.of("executor_added", "app_live"), late.stream().map(LiveRow::getView).toList());
  }

  /**
   * An executor is not silent if it has no samples, was removed, or belongs to an ended
   * application.
   */
  @Test
  void removedExecutorIsNotSilent() throws Exception {
    Scenario scenario = new Scenario().fact(added("1")).fact(added("2")).fact(added("never"));
    scenario.sample(sample("1", 10)).sample(sample("2", 20)).pass();
    scenario.fact(
        Fact.newBuilder().setExecutorRemoved(ExecutorRemoved.newBuilder().setExecutorId("2")));
    List<ExecutorLive> removed = Scenario.executors(scenario.pass());
    scenario.sample(sample("2", 21));
    List<ExecutorLive> late = Scenario.executors(scenario.pass());
    scenario.numbered("driver-1");
    List<ExecutorLive> after = Scenario.executors(scenario.pass());
    scenario.fact(
        Fact.newBuilder().setApplicationEnded(ApplicationEnded.newBuilder().setEndedMs(1)));
    List<ExecutorLive> ended = Scenario.executors(scenario.pass());

    assertEquals(List.of("1"), ids(removed));
    assertEquals(List.of("1", "2"), ids(late), "a late sample is reported");
    assertEquals(List.of("1"), ids(after));
    assertEquals(List.of(), ended);
  }

  /**
   * No fact reports that the driver was added; it has a row from its first sample on, and its age
   * is the age of the application.
   */
  @Test
  void driverIsPresentFromItsFirstSample() throws Exception {
    Scenario scenario = new Scenario();
    scenario.sample(sample("driver", 10)).pass();
    scenario.numbered("driver-1");
    ExecutorLive driver = Scenario.executors(scenario.pass()).get(0);

    assertEquals(5000, driver.getSilentMs());
    assertEquals(scenario.endMs() - Scenario.START_MS, driver.getAgeMs());
    assertFalse(driver.hasMemoryLimitBytes());
  }

  /** The longest pause of the window is reported, with the heap after the last collection. */
  @Test
  void reportsTheLongestPauseOfTheWindow() throws Exception {
    Scenario scenario = new Scenario().fact(added("1"));
    scenario.sample(sample("1", 1).setGcPauseMaxMs(20).addGcPauses(collected(200, 20, 555)));
    scenario.pause(sample("1", 1).setGcPauseMaxMs(900).addGcPauses(collected(100, 900, 444)));
    ExecutorLive first = Scenario.executors(scenario.pass()).get(0);
    scenario.sample(sample("1", 1));
    ExecutorLive second = Scenario.executors(scenario.pass()).get(0);
    scenario.sample(sample("1", 1).setGcPauseMaxMs(1).addGcPauses(collected(300, 1, 666)));
    ExecutorLive third = Scenario.executors(scenario.pass()).get(0);

    assertEquals(900, first.getGcPauseMaxMs());
    assertEquals(555, first.getHeapAfterGcBytes());
    assertEquals(555, second.getHeapAfterGcBytes(), "nothing was collected since");
    assertEquals(666, third.getHeapAfterGcBytes());
  }

  /** A row has the memory of the process, its limit, and the age of the executor. */
  @Test
  void reportsMemoryAndItsLimit() throws Exception {
    Scenario scenario = new Scenario();
    scenario.fact(
        Fact.newBuilder().setApplicationStarted(ApplicationStarted.newBuilder().setMaster("yarn")));
    scenario.fact(
        Fact.newBuilder()
            .setResourceProfileAdded(
                ResourceProfileAdded.newBuilder()
                    .setProfileId(0)
                    .setExecutorMemoryBytes(1024 * MIB)));
    scenario.fact(
        Fact.newBuilder()
            .setExecutorAdded(
                ExecutorAdded.newBuilder()
                    .setExecutorId("1")
                    .setAddedMs(990_000)
                    .setResourceProfileId(0)));
    scenario.sample(sample("1", 1).setRssBytes(100).setPythonRssBytes(11).setDirectMemoryBytes(5));
    List<LiveRow> rows = scenario.pass();
    ExecutorLive row = Scenario.executors(rows).get(0);

    assertEquals(111, row.getProcessRssBytes());
    assertEquals(5, row.getDirectMemoryBytes());
    assertEquals(1408 * MIB, row.getMemoryLimitBytes());
    assertEquals(15_000, row.getAgeMs());
    assertEquals(
        List.of("application_started", "executor_added", "executor_live", "app_live"),
        rows.stream().map(LiveRow::getView).toList(),
        "profiles are kept and not passed on");
  }

  /** Samples of executors beyond the limit are emitted as rows, but not stored in the state. */
  @Test
  void boundsStoredExecutors() throws Exception {
    Scenario scenario = new Scenario();
    int many = ApplicationExecutors.MAX_TRACKED + 50;
    for (int id = 0; id < many; id++) {
      scenario.fact(added("e" + id)).sample(sample("e" + id, 1));
    }
    List<LiveRow> spoken = scenario.pass();
    scenario.numbered("driver-1");
    List<LiveRow> silent = scenario.pass();

    assertEquals(many, Scenario.executors(spoken).size());
    assertEquals(many, Scenario.application(spoken).getExecutors());
    assertEquals(ApplicationExecutors.MAX_TRACKED, Scenario.executors(silent).size());
    assertTrue(scenario.stateBytes() < 100 * many, scenario.stateBytes() + " bytes");
  }

  private static List<String> ids(List<ExecutorLive> rows) {
    return rows.stream().map(ExecutorLive::getExecutorId).toList();
  }

  private static Fact.Builder added(String id) {
    return Fact.newBuilder().setExecutorAdded(ExecutorAdded.newBuilder().setExecutorId(id));
  }

  private static ExecutorSample.Builder sample(String id, long heap) {
    return ExecutorSample.newBuilder().setExecutorId(id).setHeapUsedBytes(heap);
  }

  private static GcPause collected(long startedMs, long ms, long leftBytes) {
    return GcPause.newBuilder()
        .setStartedMs(startedMs)
        .setDurationMs(ms)
        .setHeapAfterBytes(leftBytes)
        .build();
  }
}
