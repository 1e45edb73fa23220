package io.sparkfuse.spark.safety;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sparkfuse.spark.safety.CollectorProtection.Level;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Tests guarantee 06 of docs/plugin.md: self-protection opens for each reason, waits, probes, and
 * then closes or stays open for longer.
 */
class CollectorProtectionTest {
  private static final long PAUSE_MS = 30_000;

  private double freeHeap = 0.5;
  private long gcMs;
  private long callbackNs;
  private long nowMs = 1_000_000;
  private final List<Level> levels = new ArrayList<>();
  private CollectorProtection protection;

  @BeforeEach
  void createProtection() {
    LoadMonitor.Gauges gauges =
        new LoadMonitor.Gauges(() -> freeHeap, () -> gcMs, () -> callbackNs);
    LoadMonitor loadMonitor = new LoadMonitor(gauges, 0.1, 0.1, 2_000_000);
    protection = new CollectorProtection(loadMonitor, PAUSE_MS, levels::add);
  }

  /**
   * Advances the time second by second; garbage collection takes the given share of each second.
   */
  private void pass(long ms, double gcShare) {
    for (long i = 0; i < ms; i += 1_000) {
      nowMs += 1_000;
      gcMs += (long) (1_000 * gcShare);
      protection.check(nowMs);
    }
  }

  private void assertProtection(String state, String reason, Level level) {
    assertEquals(
        Arrays.asList(state, reason, level),
        Arrays.asList(protection.state(), protection.reason(), protection.level()));
  }

  @Test
  void guarantee_06_healthyJvmKeepsProtectionClosed() {
    pass(120_000, 0.05);

    assertProtection("closed", "", Level.ALL);
    assertEquals(0, levels.size());
  }

  @Test
  void guarantee_06_fullHeapOpensAndProbeCloses() {
    freeHeap = 0.09;
    pass(1_000, 0);
    assertProtection("open", "heap", Level.FEW);
    freeHeap = 0.5;
    pass(PAUSE_MS - 1_000, 0);
    assertProtection("open", "heap", Level.FEW);
    pass(1_000, 0);
    assertProtection("half-open", "heap", Level.ALL);
    pass(CollectorProtection.PROBE_MS, 0);

    assertProtection("closed", "", Level.ALL);
    assertEquals(Arrays.asList(Level.FEW, Level.ALL), levels);
  }

  @Test
  void guarantee_06_failedProbeDoublesPause() {
    freeHeap = 0;
    pass(1_000 + PAUSE_MS + 1_000, 0);
    assertProtection("open", "heap", Level.FEW);
    pass(2 * PAUSE_MS - 1_000, 0);
    assertProtection("open", "heap", Level.FEW);
    freeHeap = 0.5;
    pass(1_000 + CollectorProtection.PROBE_MS, 0);

    assertProtection("closed", "", Level.ALL);
  }

  @Test
  void guarantee_06_frequentCollectionsOpenOneLongPauseDoesNot() {
    pass(40_000, 0.02);
    gcMs += 2_000;
    pass(1_000, 0);
    assertProtection("closed", "", Level.ALL);
    pass(60_000, 0.3);

    assertProtection("open", "gc", Level.FEW);
  }

  @Test
  void guarantee_06_slowCallbacksOpenProtection() {
    callbackNs = 3_000_000;
    pass(1_000, 0);

    assertProtection("open", "callbacks", Level.FEW);
  }

  @Test
  void guarantee_07_eachSwitchWorksAlone() {
    protection.setOff("a signal", true);
    protection.setOff("the file x", true);
    assertProtection("open", "switched off", Level.NOTHING);
    protection.setOff("a signal", false);
    assertProtection("open", "switched off", Level.NOTHING);
    protection.setOff("the file x", false);
    protection.setOff("the file x", false);

    assertProtection("closed", "", Level.ALL);
    assertEquals(Arrays.asList(Level.NOTHING, Level.ALL), levels);
  }
}
