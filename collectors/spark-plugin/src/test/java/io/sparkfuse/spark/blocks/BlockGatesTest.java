package io.sparkfuse.spark.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tests each gate with its cases: the gate prevents the cancellation of a job, and without the gate
 * the job is cancelled.
 */
class BlockGatesTest {
  private static final int JOB = 7;
  private static final int OTHER_JOB = 8;
  private static final int STAGE = 3;
  private static final long SAFE_POINT_MS = 1_000;

  /** One block with all limits, whose job runs one task. */
  private static final class Scene {
    private final BlockTag tag =
        BlockTag.parse("sparkfuse-block.0123456789abcdef.orders.t60000.s1000.r100.c10000");
    private final Blocks blocks;
    private final List<String> warnings = new ArrayList<>();
    private long clockMs = 1;
    private long droppedEvents;
    private boolean held;

    private Scene(List<BlockGates.Gate> gates) {
      blocks = new Blocks(() -> clockMs, () -> droppedEvents, gates);
      blocks.jobStarted(JOB, Collections.singletonList(tag));
      blocks.stageStarted(STAGE, 0, Collections.singletonList(tag));
      blocks.taskStarted(STAGE, 0, 1);
    }

    private void spill(long bytes) {
      blocks.taskProgressed(STAGE, 0, 1, bytes, 0);
    }

    private Map<Integer, String> decide() {
      return blocks.decide(held, SAFE_POINT_MS, 1, warnings);
    }
  }

  /** Events in a block after which exactly one gate prevents the cancellation of a job. */
  private static final class Case {
    private final String gate;
    private final String name;
    private final int job;
    private final Consumer<Scene> play;

    private Case(String gate, String name, int job, Consumer<Scene> play) {
      this.gate = gate;
      this.name = name;
      this.job = job;
      this.play = play;
    }

    @Override
    public String toString() {
      return gate + ": " + name;
    }
  }

  private static Case of(String gate, String name, Consumer<Scene> play) {
    return new Case(gate, name, JOB, play);
  }

  static Stream<Case> cases() {
    return Stream.of(
        of(BlockGates.LIMIT, "nothing was used", all -> {}),
        of(BlockGates.LIMIT, "exactly the limit of spill", all -> all.spill(1_000)),
        of(BlockGates.LIMIT, "exactly the limit of time", all -> all.clockMs = 10_001),
        of(
            BlockGates.COMPLETE,
            "the end of a task may have been dropped",
            all -> {
              all.droppedEvents = 1;
              all.clockMs = 20_000;
            }),
        of(
            BlockGates.HOLD,
            "of the owner",
            all -> {
              all.held = true;
              all.spill(1_001);
            }),
        of(
            BlockGates.HOLD,
            "after the stop, for jobs that begin later",
            all -> {
              all.spill(1_001);
              all.decide();
              all.held = true;
            }),
        of(
            BlockGates.SAFE_POINT,
            "a commit",
            all -> {
              all.blocks.safePoint(all.tag.key, 1);
              all.spill(1_001);
            }),
        of(
            BlockGates.SAFE_POINT,
            "one of two nested safe points has ended",
            all -> {
              all.blocks.safePoint(all.tag.key, 1);
              all.blocks.safePoint(all.tag.key, 1);
              all.spill(1_001);
              all.decide();
              all.clockMs += SAFE_POINT_MS - 1;
              all.blocks.safePoint(all.tag.key, -1);
            }),
        new Case(
            BlockGates.TAG,
            "a job of another block",
            OTHER_JOB,
            all -> {
              all.blocks.jobStarted(
                  OTHER_JOB,
                  Collections.singletonList(
                      BlockTag.parse("sparkfuse-block.fedcba9876543210.orders.s1000")));
              all.spill(1_001);
            }));
  }

  @ParameterizedTest
  @MethodSource("cases")
  void gatePreventsTheStop(Case each) {
    Scene all = new Scene(BlockGates.ALL);
    each.play.accept(all);

    assertFalse(all.decide().containsKey(each.job));
  }

  @ParameterizedTest
  @MethodSource("cases")
  void withoutGateTheJobIsCancelled(Case each) {
    Scene all = new Scene(BlockGates.without(each.gate));
    each.play.accept(all);

    assertTrue(all.decide().containsKey(each.job));
  }

  @Test
  void eachGateHasCases() {
    Set<String> tested = cases().map(each -> each.gate).collect(Collectors.toSet());
    Set<String> all = BlockGates.ALL.stream().map(gate -> gate.name).collect(Collectors.toSet());

    assertEquals(new TreeSet<>(all), new TreeSet<>(tested));
  }

  /** If a block has just exceeded a limit, its job is cancelled, and the reason names the limit. */
  @Test
  void blockAboveALimitIsStopped() {
    List<Consumer<Scene>> uses =
        Arrays.asList(
            all -> all.spill(1_001),
            all -> all.blocks.taskProgressed(STAGE, 0, 1, 0, 101),
            all -> all.clockMs = 10_002,
            all -> {
              all.blocks.taskEnded(STAGE, 0, 1, 10, 0, 0);
              all.clockMs = 60_002;
            });
    List<String> limits = Arrays.asList("max_spill", "max_output_rows", "max_cost", "max_seconds");
    for (int i = 0; i < uses.size(); i++) {
      Scene all = new Scene(BlockGates.ALL);
      uses.get(i).accept(all);
      Map<Integer, String> cancelled = all.decide();

      assertEquals(Collections.singleton(JOB), cancelled.keySet());
      assertTrue(cancelled.get(JOB).contains("Limit: " + limits.get(i) + " "), cancelled.get(JOB));
    }
  }

  /**
   * A time limit does not depend on Spark's events, so it is enforced even if events were dropped.
   */
  @Test
  void limitOfTimeNeedsNoEvents() {
    Scene all = new Scene(BlockGates.ALL);
    all.droppedEvents = 1;
    all.clockMs = 60_002;

    assertTrue(all.decide().get(JOB).contains("Limit: max_seconds "));
  }

  /**
   * The wait for the end of a safe point is limited, and the reason states how long the wait was.
   */
  @Test
  void safePointIsBounded() {
    Scene all = new Scene(BlockGates.ALL);
    all.blocks.safePoint(all.tag.key, 1);
    all.spill(1_001);
    all.decide();
    all.clockMs += SAFE_POINT_MS - 1;
    all.decide();
    all.clockMs += 1;

    assertTrue(all.decide().get(JOB).contains("after " + (SAFE_POINT_MS - 1) + " ms in a safe"));
  }

  /** A hold is reported only once; after the hold is released, the block is stopped. */
  @Test
  void holdIsReportedOnce() {
    Scene all = new Scene(BlockGates.ALL);
    all.held = true;
    all.spill(1_001);
    all.decide();
    all.decide();

    assertEquals(1, all.warnings.size());
    assertTrue(all.warnings.get(0).contains("a hold prevents it"), all.warnings.get(0));
    all.held = false;
    assertEquals(Collections.singleton(JOB), all.decide().keySet());
  }

  /** A limit that was exceeded stays exceeded, even if the metrics of the task are lost. */
  @Test
  void lostMetricsDoNotReviveABlock() {
    Scene all = new Scene(BlockGates.ALL);
    all.spill(1_001);
    all.decide();
    all.blocks.taskEnded(STAGE, 0, 1, 10, 0, 0);
    all.blocks.jobStarted(OTHER_JOB, Collections.singletonList(all.tag));

    assertEquals(new TreeSet<>(Arrays.asList(JOB, OTHER_JOB)), all.decide().keySet());
  }
}
