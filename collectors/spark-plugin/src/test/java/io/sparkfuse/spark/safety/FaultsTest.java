package io.sparkfuse.spark.safety;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class FaultsTest {
  private static final Throwable FAULT = new IllegalStateException("test");

  @Test
  void must_do_01_manyWithinAnHourSwitchThePartOffForGood() {
    Faults faults = new Faults("test", 3);
    faults.caught(FAULT, 0);
    faults.caught(FAULT, Faults.WINDOW_MS - 2);
    assertTrue(faults.on());
    faults.caught(FAULT, Faults.WINDOW_MS - 1);
    assertFalse(faults.on());
    faults.caught(FAULT, 9 * Faults.WINDOW_MS);

    assertFalse(faults.on());
    assertEquals(4, faults.count());
  }

  @Test
  void anHourIsAnyHour() {
    Faults faults = new Faults("test", 3);
    faults.caught(FAULT, 0);
    faults.caught(FAULT, Faults.WINDOW_MS);
    faults.caught(FAULT, Faults.WINDOW_MS + 1);
    assertTrue(faults.on());
    faults.caught(FAULT, 2 * Faults.WINDOW_MS - 1);

    assertFalse(faults.on());
  }

  @Test
  void oneNowAndThenOverWeeksIsNoFailingPart() {
    Faults faults = new Faults("test", 3);
    for (int i = 0; i < 100; i++) {
      faults.caught(FAULT, i * Faults.WINDOW_MS);
    }

    assertTrue(faults.on());
    assertEquals(100, faults.count());
  }
}
