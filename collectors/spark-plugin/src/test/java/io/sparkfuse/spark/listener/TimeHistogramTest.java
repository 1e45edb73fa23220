package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class TimeHistogramTest {
  @Test
  void quantileErrorIsAtMostOneEighth() {
    TimeHistogram times = new TimeHistogram();
    for (int i = 1; i <= 10_000; i++) {
      times.add(i * 1_000L);
    }

    for (double share : new double[] {0.5, 0.99, 0.999}) {
      double exact = share * 10_000_000;
      assertTrue(times.quantile(share) >= exact, "an upper edge");
      assertTrue(times.quantile(share) <= exact * 1.13, "of the bucket");
    }
  }

  @Test
  void windowEndsOnlyWithEnoughTimes() {
    TimeHistogram times = new TimeHistogram();
    for (int i = 0; i < 9; i++) {
      times.add(1_000_000);
    }

    assertEquals(0, times.windowQuantile(0.5, 10));
    times.add(1_000_000);
    assertTrue(times.windowQuantile(0.5, 10) >= 1_000_000);
    for (int i = 0; i < 10; i++) {
      times.add(1_000);
    }
    assertTrue(times.windowQuantile(0.99, 10) < 2_000);
  }

  @Test
  void emptyHistogramGivesZero() {
    assertEquals(0, new TimeHistogram().quantile(0.99));
    assertEquals(0, new CallbackTimes().longest());
    assertEquals(0, new CallbackTimes().cost());
  }
}
