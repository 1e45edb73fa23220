package io.sparkfuse.windows.aggregates;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.datadoghq.sketch.ddsketch.DDSketch;
import org.junit.jupiter.api.Test;

/**
 * Median and 95th percentile are defined as in the kernel, and are exact up to the error of a
 * sketch.
 */
class SketchesTest {
  @Test
  void quantilesOfFewValuesAreThoseOfTheKernel() {
    assertQuantiles(2_000, 2_000, 2_000);
    assertQuantiles(1_500, 2_000, 1_000, 2_000);
    assertQuantiles(2_500, 30_000, 3_000, 1_000, 30_000, 2_000);
  }

  /** The 95th percentile of 20 values is the 19th value, and that of 21 values is the 20th. */
  @Test
  void percentileIsTheNearestRank() {
    for (int count = 1; count <= 200; count++) {
      DDSketch sketch = Sketches.empty();
      for (int value = 1; value <= count; value++) {
        sketch.accept(value * 1_000);
      }

      double median = (count + 1) / 2.0 * 1_000;
      double p95 = Math.ceil(count * 0.95 - 1e-9) * 1_000;
      assertEquals(median, Sketches.median(sketch), 0.0101 * median, "of " + count);
      assertEquals(p95, Sketches.p95(sketch), 0.0101 * p95, "of " + count);
    }
  }

  private static void assertQuantiles(double median, double p95, long... values) {
    DDSketch sketch = Sketches.empty();
    for (long value : values) {
      sketch.accept(value);
    }

    assertEquals(median, Sketches.median(sketch), 0.0101 * median);
    assertEquals(p95, Sketches.p95(sketch), 0.0101 * p95);
  }
}
