package io.sparkfuse.spark.safety;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class FaultCounterTest {
  private static final Throwable FAULT = new IllegalStateException("test");

  @Test
  void guarantee_01_manyFaultsWithinHourSwitchPartOff() {
    FaultCounter faults = new FaultCounter("test", 3);
    faults.caught(FAULT, 0);
    faults.caught(FAULT, FaultCounter.WINDOW_MS - 2);
    assertTrue(faults.on());
    faults.caught(FAULT, FaultCounter.WINDOW_MS - 1);
    assertFalse(faults.on());
    faults.caught(FAULT, 9 * FaultCounter.WINDOW_MS);

    assertFalse(faults.on());
    assertEquals(4, faults.count());
  }

  @Test
  void windowOfFaultsSlides() {
    FaultCounter faults = new FaultCounter("test", 3);
    faults.caught(FAULT, 0);
    faults.caught(FAULT, FaultCounter.WINDOW_MS);
    faults.caught(FAULT, FaultCounter.WINDOW_MS + 1);
    assertTrue(faults.on());
    faults.caught(FAULT, 2 * FaultCounter.WINDOW_MS - 1);

    assertFalse(faults.on());
  }

  @Test
  void rareFaultsDoNotSwitchPartOff() {
    FaultCounter faults = new FaultCounter("test", 3);
    for (int i = 0; i < 100; i++) {
      faults.caught(FAULT, i * FaultCounter.WINDOW_MS);
    }

    assertTrue(faults.on());
    assertEquals(100, faults.count());
  }
}
