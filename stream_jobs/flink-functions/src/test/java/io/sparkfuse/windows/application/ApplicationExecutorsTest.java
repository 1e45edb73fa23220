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

/** What is said of executors that speak, that fell silent, and that are gone. */
class ApplicationExecutorsTest {
  private static final long MIB = 1L << 20;

  /** A silent executor is told by its last gauges, in windows in which anybody else spoke. */
  @Test
  void aSilentExecutorIsToldByItsLastGauges() throws Exception {
    Scenario story = new Scenario().fact(added("1")).fact(added("2"));
    story.sample(sample("1", 10)).sample(sample("2", 20).setRunningTasks(3).setGcPauseMaxMs(7));
    List<ExecutorLive> both = Scenario.executors(story.pass());
    story.sample(sample("1", 11));
    List<ExecutorLive> silent = Scenario.executors(story.pass());
    List<ExecutorLive> nobody = Scenario.executors(story.pass());
    story.away(720).word("driver-1");
    List<ExecutorLive> later = Scenario.executors(story.pass());

    assertEquals(List.of("1", "2"), ids(both));
    assertEquals(List.of(0L, 0L), both.stream().map(ExecutorLive::getSilentMs).toList());
    assertEquals(7, both.get(1).getGcPauseMaxMs());
    assertEquals(List.of("1", "2"), ids(silent));
    assertEquals(5000, silent.get(1).getSilentMs());
    assertEquals(20, silent.get(1).getHeapUsedBytes());
    assertEquals(3, silent.get(1).getRunningTasks());
    assertFalse(silent.get(1).hasGcPauseMaxMs(), "a pause is told once");
    assertEquals(List.of(), nobody);
    assertEquals(
        List.of(5000L, 10_000L),
        later.stream().map(ExecutorLive::getSilentMs).toList(),
        "only windows count in which it could have been heard");
  }

  /** What comes late makes its window pass again: no time passes, and nobody was silent in it. */
  @Test
  void aLateFactMakesNobodySilent() throws Exception {
    Scenario story = new Scenario().fact(added("1")).sample(sample("1", 10));
    story.pass();
    story.fact(added("2"));
    List<LiveRow> late = story.passAgain();

    assertEquals(
        List.of("executor_added", "app_live"), late.stream().map(LiveRow::getView).toList());
  }

  /**
   * Nothing is said of executors that never sampled, that were removed, or whose application ended.
   */
  @Test
  void whoIsGoneIsNotSilent() throws Exception {
    Scenario story = new Scenario().fact(added("1")).fact(added("2")).fact(added("never"));
    story.sample(sample("1", 10)).sample(sample("2", 20)).pass();
    story.fact(
        Fact.newBuilder().setExecutorRemoved(ExecutorRemoved.newBuilder().setExecutorId("2")));
    List<ExecutorLive> removed = Scenario.executors(story.pass());
    story.sample(sample("2", 21));
    List<ExecutorLive> late = Scenario.executors(story.pass());
    story.word("driver-1");
    List<ExecutorLive> after = Scenario.executors(story.pass());
    story.fact(Fact.newBuilder().setApplicationEnded(ApplicationEnded.newBuilder().setEndedMs(1)));
    List<ExecutorLive> ended = Scenario.executors(story.pass());

    assertEquals(List.of("1"), ids(removed));
    assertEquals(List.of("1", "2"), ids(late), "what it still says is told");
    assertEquals(List.of("1"), ids(after));
    assertEquals(List.of(), ended);
  }

  /** The driver is never added; it is there once it samples itself, as old as the application. */
  @Test
  void theDriverIsAnExecutorOnceItSamples() throws Exception {
    Scenario story = new Scenario();
    story.sample(sample("driver", 10)).pass();
    story.word("driver-1");
    ExecutorLive driver = Scenario.executors(story.pass()).get(0);

    assertEquals(5000, driver.getSilentMs());
    assertEquals(story.endMs() - Scenario.START_MS, driver.getAgeMs());
    assertFalse(driver.hasMemoryLimitBytes());
  }

  /** Of all pauses of a window the longest is told, and what the last collection left over. */
  @Test
  void pausesOfTheWholeWindowCount() throws Exception {
    Scenario story = new Scenario().fact(added("1"));
    story.sample(sample("1", 1).setGcPauseMaxMs(20).addGcPauses(collected(200, 20, 555)));
    story.pause(sample("1", 1).setGcPauseMaxMs(900).addGcPauses(collected(100, 900, 444)));
    ExecutorLive first = Scenario.executors(story.pass()).get(0);
    story.sample(sample("1", 1));
    ExecutorLive second = Scenario.executors(story.pass()).get(0);
    story.sample(sample("1", 1).setGcPauseMaxMs(1).addGcPauses(collected(300, 1, 666)));
    ExecutorLive third = Scenario.executors(story.pass()).get(0);

    assertEquals(900, first.getGcPauseMaxMs());
    assertEquals(555, first.getHeapAfterGcBytes());
    assertEquals(555, second.getHeapAfterGcBytes(), "nothing was collected since");
    assertEquals(666, third.getHeapAfterGcBytes());
  }

  /** What its container is charged for, against what it may have; and how long it is there. */
  @Test
  void memoryIsHeldAgainstTheContainer() throws Exception {
    Scenario story = new Scenario();
    story.fact(
        Fact.newBuilder().setApplicationStarted(ApplicationStarted.newBuilder().setMaster("yarn")));
    story.fact(
        Fact.newBuilder()
            .setResourceProfileAdded(
                ResourceProfileAdded.newBuilder()
                    .setProfileId(0)
                    .setExecutorMemoryBytes(1024 * MIB)));
    story.fact(
        Fact.newBuilder()
            .setExecutorAdded(
                ExecutorAdded.newBuilder()
                    .setExecutorId("1")
                    .setAddedMs(990_000)
                    .setResourceProfileId(0)));
    story.sample(sample("1", 1).setRssBytes(100).setPythonRssBytes(11).setDirectMemoryBytes(5));
    List<LiveRow> rows = story.pass();
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

  /** Beyond the bound executors are told when they speak, and not remembered. */
  @Test
  void isBounded() throws Exception {
    Scenario story = new Scenario();
    int many = ApplicationExecutors.MAX_TRACKED + 50;
    for (int id = 0; id < many; id++) {
      story.fact(added("e" + id)).sample(sample("e" + id, 1));
    }
    List<LiveRow> spoken = story.pass();
    story.word("driver-1");
    List<LiveRow> silent = story.pass();

    assertEquals(many, Scenario.executors(spoken).size());
    assertEquals(many, Scenario.application(spoken).getExecutors());
    assertEquals(ApplicationExecutors.MAX_TRACKED, Scenario.executors(silent).size());
    assertTrue(story.stateBytes() < 100 * many, story.stateBytes() + " bytes");
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
