package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.spark.counters.StageRegistry;
import io.sparkfuse.spark.safety.CollectorProtection.Level;
import io.sparkfuse.spark.safety.FaultCounter;
import java.util.Arrays;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.Test;

/** In a real SparkContext, an error in a listener callback does not affect the user's job. */
class ThrowingRecorderTest {
  private static SparkConf conf() {
    return new SparkConf(false)
        .setMaster("local[2]")
        .setAppName("throwing")
        .set("spark.ui.enabled", "false")
        .set("spark.driver.host", "127.0.0.1")
        .set("spark.driver.bindAddress", "127.0.0.1");
  }

  private static Error error(int kind) {
    switch (kind % 4) {
      case 0:
        return new NoSuchMethodError("test");
      case 1:
        return new NoClassDefFoundError("test");
      case 2:
        return new StackOverflowError("test");
      default:
        return new OutOfMemoryError("test");
    }
  }

  @Test
  void errorsInCallbacksDoNotStopTheJob() {
    FaultCounter faults = new FaultCounter("test", 30);
    int[] calls = new int[1];
    try (JavaSparkContext spark = new JavaSparkContext(conf())) {
      SparkfuseListener listener =
          new SparkfuseListener(
              spark.getConf(),
              (lane, fact) -> {
                throw error(calls[0]++);
              },
              new StageRegistry(),
              new EventFilter(() -> Level.ALL, lane -> {}),
              faults,
              "test");
      spark.sc().listenerBus().addToQueue(listener, SparkfuseListener.QUEUE);
      for (int job = 0; job < 4; job++) {
        assertEquals(6, spark.parallelize(Arrays.asList(1, 2, 3), 3).reduce(Integer::sum));
      }
      assertFalse(spark.sc().isStopped());
    }

    assertEquals(30, calls[0], "it is switched off after so many faults");
    assertFalse(faults.on());
  }

  @Test
  void interruptedListenerIsNotRemoved() {
    FaultCounter faults = new FaultCounter("test");
    try (JavaSparkContext spark = new JavaSparkContext(conf())) {
      SparkfuseListener listener =
          new SparkfuseListener(
              spark.getConf(),
              (lane, fact) -> {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted");
              },
              new StageRegistry(),
              new EventFilter(() -> Level.ALL, lane -> {}),
              faults,
              "test");
      spark.sc().listenerBus().addToQueue(listener, SparkfuseListener.QUEUE);
      spark.parallelize(Arrays.asList(1, 2, 3), 3).reduce(Integer::sum);
      spark.parallelize(Arrays.asList(1, 2, 3), 3).reduce(Integer::sum);
    }

    assertTrue(faults.count() >= 16, "both jobs were seen: " + faults.count());
  }
}
