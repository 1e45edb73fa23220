package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class CallbackTimesTest {
  @Test
  void quantilesAreWithinAnEighthAndTheLongestIsExact() {
    CallbackTimes times = new CallbackTimes();
    for (int i = 1; i <= 10_000; i++) {
      times.add(i * 1_000L);
    }

    for (double share : new double[] {0.5, 0.99, 0.999}) {
      double exact = share * 10_000_000;
      assertTrue(times.quantile(share) >= exact, "an upper edge");
      assertTrue(times.quantile(share) <= exact * 1.13, "of the bucket");
    }
    assertEquals(10_000_000, times.longest());
  }

  @Test
  void withoutCallbacksThereIsNothing() {
    assertEquals(0, new CallbackTimes().quantile(0.99));
    assertEquals(0, new CallbackTimes().longest());
  }
}
