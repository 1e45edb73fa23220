package io.sparkfuse.spark.sampler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.GcPause;
import io.sparkfuse.spark.safety.FaultCounter;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class GcPausesTest {
  private final FaultCounter faults = new FaultCounter("test");
  private final GcPauses pauses = new GcPauses(faults);

  private ExecutorSample sample() {
    ExecutorSample.Builder sample = ExecutorSample.newBuilder();
    pauses.moveTo(sample);
    return sample.build();
  }

  @Test
  @Timeout(value = 60, unit = TimeUnit.SECONDS)
  void collectionOfThisJvmIsRecorded() {
    long before = System.currentTimeMillis();
    pauses.listen();
    ExecutorSample sample;
    do { // the JVM notifies a little later
      System.gc();
      sample = sample();
    } while (sample.getGcPausesCount() == 0);
    pauses.stop();
    GcPause pause = sample.getGcPauses(0);

    assertTrue(pause.getStartedMs() >= before - 1_000, "in ms since 1970");
    assertTrue(pause.getStartedMs() <= System.currentTimeMillis() + 1_000);
    assertTrue(pause.getHeapBeforeBytes() > 0 && pause.getHeapAfterBytes() > 0);
    assertFalse(pause.getCollector().isEmpty() || pause.getCause().isEmpty());
    assertEquals(pause.getDurationMs(), sample.getGcPauseMaxMs());
    assertEquals(0, faults.count());
  }

  @Test
  void longestPausesAreKeptAndOthersCounted() {
    for (int ms = 1; ms <= 100; ms++) {
      pauses.add(GcPause.newBuilder().setDurationMs((ms * 37) % 101).build());
    }
    ExecutorSample sample = sample();

    assertEquals(GcPauses.MAX_PAUSES, sample.getGcPausesCount());
    assertEquals(100, sample.getGcPauseMaxMs());
    assertEquals(100, sample.getGcPauses(0).getDurationMs());
    assertEquals(85, sample.getGcPauses(15).getDurationMs());
    assertEquals(84, sample.getGcPausesLeftOut());
    assertEquals(0, sample().getGcPausesCount(), "each is sample once");
  }

  @Test
  void concurrentCyclesAreNotPauses() {
    assertTrue(GcPauses.concurrent("ZGC Cycles"));
    assertTrue(GcPauses.concurrent("ZGC Major Cycles"));
    assertTrue(GcPauses.concurrent("Shenandoah Cycles"));
    assertFalse(GcPauses.concurrent("ZGC Pauses"));
    assertFalse(GcPauses.concurrent("G1 Young Generation"));
    assertFalse(GcPauses.concurrent("G1 Concurrent GC"), "its remark and cleanup are pauses");
  }
}
