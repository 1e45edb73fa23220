package io.sparkfuse.spark.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.spark.Fuse;
import io.sparkfuse.spark.safety.SteadyClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext$;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests blocks with limits on a real Spark with the plugin, without a broker and without a
 * controller.
 */
class CircuitBreakerTest {
  private static final AtomicInteger WAITING = new AtomicInteger();
  private static volatile CountDownLatch release;

  private JavaSparkContext spark;

  @BeforeEach
  void reset() {
    release = new CountDownLatch(1);
    WAITING.set(0);
  }

  private void start(String... settings) {
    SparkConf conf =
        new SparkConf(false)
            .setMaster("local[4]")
            .setAppName("blocks")
            .set("spark.ui.enabled", "false")
            .set("spark.driver.host", "127.0.0.1")
            .set("spark.driver.bindAddress", "127.0.0.1")
            .set("spark.plugins", "io.sparkfuse.spark.SparkfusePlugin");
    for (int i = 0; i < settings.length; i += 2) {
      conf.set(settings[i], settings[i + 1]);
    }
    spark = new JavaSparkContext(conf);
  }

  @AfterEach
  void stop() {
    release.countDown();
    spark.stop();
    await("the end of the context", () -> SparkContext$.MODULE$.getActive().isEmpty());
  }

  private static void await(String what, BooleanSupplier condition) {
    long untilMs = SteadyClock.ms() + 60_000;
    while (!condition.getAsBoolean()) {
      assertTrue(SteadyClock.ms() < untilMs, "still waiting for " + what);
      Thread.yield();
    }
  }

  /** Runs a job whose task waits until it is interrupted or released. */
  private long waiting() {
    return spark
        .parallelize(Arrays.asList(1), 1)
        .map(
            one -> {
              WAITING.incrementAndGet();
              release.await();
              return one;
            })
        .count();
  }

  private static String failure(Exception error) {
    StringBuilder text = new StringBuilder();
    for (Throwable each = error; each != null; each = each.getCause()) {
      text.append(each.getMessage()).append('\n');
    }
    return text.toString();
  }

  /** A block that exceeds its time is stopped; a concurrent block of another thread continues. */
  @Test
  void onlyTheBlockOverItsLimitIsStopped() throws Exception {
    start();
    CompletableFuture<Long> other =
        CompletableFuture.supplyAsync(
            () -> {
              try (CircuitBreaker block =
                  CircuitBreaker.named("other").maxTime(Duration.ofMinutes(5)).open()) {
                return waiting();
              }
            });
    await("the other block", () -> WAITING.get() == 1);

    Exception stopped;
    try (CircuitBreaker block =
        CircuitBreaker.named("or ders").maxTime(Duration.ofMillis(300)).open()) {
      stopped = assertThrows(Exception.class, this::waiting);
      assertTrue(failure(stopped).contains("[SPARKFUSE_BLOCK_STOPPED]"), failure(stopped));
      assertTrue(failure(stopped).contains("block or_ders"), failure(stopped));
      assertTrue(failure(stopped).contains(block.tag()), failure(stopped));
    }
    assertEquals(1, spark.parallelize(Arrays.asList(1), 1).count());
    assertFalse(other.isDone());
    release.countDown();
    assertEquals(1, other.get());
  }

  /** If a nested block is stopped, the jobs of the outer block continue. */
  @Test
  void theOuterBlockContinuesAfterItsInnerBlockIsStopped() {
    start();
    try (CircuitBreaker outer =
        CircuitBreaker.named("outer").maxTime(Duration.ofMinutes(5)).open()) {
      try (CircuitBreaker inner =
          CircuitBreaker.named("inner").maxTime(Duration.ofMillis(200)).open()) {
        String text = failure(assertThrows(Exception.class, this::waiting));
        assertTrue(text.contains("block inner"), text);
      }
      release.countDown();
      assertEquals(1, waiting());
    }
  }

  /**
   * Rows are counted by tag: a block with few rows is not charged for the rows of another block.
   */
  @Test
  void rowsOfOtherBlocksDoNotCount(@TempDir Path folder) {
    start();
    try (CircuitBreaker first = CircuitBreaker.named("first").open()) {
      write(folder.resolve("first"), 500);
    }
    try (CircuitBreaker second = CircuitBreaker.named("second").maxOutputRows(100).open()) {
      write(folder.resolve("second"), 50);
      release.countDown();
      assertEquals(1, waiting());
      assertTrue(report(second).contains("\"output_rows\":50"), report(second));
      release = new CountDownLatch(1);
      Exception stopped =
          assertThrows(
              Exception.class,
              () -> {
                write(folder.resolve("third"), 200); // the stop may arrive before its end
                waiting();
              });
      String text = failure(stopped);
      assertTrue(text.contains("Limit: max_output_rows 100. Evidence: "), text);
    }
  }

  private void write(Path path, int rows) {
    Integer[] numbers = new Integer[rows];
    Arrays.setAll(numbers, i -> i);
    spark.parallelize(Arrays.asList(numbers), 2).saveAsTextFile(path.toString());
  }

  /** Spilled bytes are limited: a block is stopped if its sort spills more than the limit. */
  @Test
  void spillIsLimited() {
    start("spark.shuffle.spill.numElementsForceSpillThreshold", "1000");
    try (CircuitBreaker block = CircuitBreaker.named("sort").maxSpillBytes(1_000).open()) {
      Integer[] numbers = new Integer[20_000];
      Arrays.setAll(numbers, i -> i);
      Exception stopped =
          assertThrows(
              Exception.class,
              () -> {
                spark.parallelize(Arrays.asList(numbers), 2).sortBy(each -> -each, true, 2).count();
                waiting();
              });
      String text = failure(stopped);
      assertTrue(text.contains("Limit: max_spill 1000."), text);
    }
  }

  /**
   * An act waits only while a job that it stops is in a safe point, and only for a limited time.
   */
  @Test
  void signalWaitsForTheSafePointOfItsJobs() throws Exception {
    start("spark.sparkfuse.fuse.safePoint", "700ms");
    CompletableFuture<Long> job =
        CompletableFuture.supplyAsync(
            () -> {
              try (CircuitBreaker block = CircuitBreaker.named("commit").open();
                  CircuitBreaker.SafePoint commit = block.safePoint()) {
                return waiting();
              }
            });
    await("the job", () -> WAITING.get() == 1);
    int id = spark.sc().statusTracker().getActiveJobIds()[0];

    assertEquals(1, Fuse.limits().of(Collections.singleton(id)).size());
    assertTrue(Fuse.limits().awaitSafePoint(Collections.singleton(id)) >= 700);
    assertEquals(0, Fuse.limits().awaitSafePoint(Collections.singleton(id + 1)));
    release.countDown();
    assertEquals(1, job.get());
  }

  /** The cost includes tasks that are still running. */
  @Test
  void costOfRunningTasksCounts() {
    start();
    try (CircuitBreaker block = CircuitBreaker.named("costly").maxCost(0.0001, 1.0).open()) {
      String text = failure(assertThrows(Exception.class, this::waiting));
      assertTrue(text.contains("Limit: max_cost 360."), text);
    }
  }

  /** A block in a safe point is stopped only after the safe point has ended. */
  @Test
  void safePointDelaysTheStop() throws Exception {
    start();
    try (CircuitBreaker block =
        CircuitBreaker.named("commit").maxTime(Duration.ofMillis(100)).open()) {
      CircuitBreaker.SafePoint commit = block.safePoint();
      CompletableFuture<Void> ends =
          CompletableFuture.runAsync(
              () -> {
                await("the job", () -> WAITING.get() == 1);
                await("the wait", () -> !report(block).contains("\"waited_ms\":0"));
                assertTrue(report(block).contains("\"stopped\":false"));
                commit.close();
              });
      String text = failure(assertThrows(Exception.class, this::waiting));
      ends.get();
      assertTrue(text.contains("ms in a safe point"), text);
    }
  }

  /** A safe point that does not end delays the stop only by the configured time. */
  @Test
  void safePointIsBounded() {
    start("spark.sparkfuse.fuse.safePoint", "500ms");
    try (CircuitBreaker block =
            CircuitBreaker.named("commit").maxTime(Duration.ofMillis(100)).open();
        CircuitBreaker.SafePoint commit = block.safePoint()) {
      String text = failure(assertThrows(Exception.class, this::waiting));
      assertTrue(text.contains("ms in a safe point"), text);
    }
  }

  /** With the owner's hold, an exceeded limit is only reported. */
  @Test
  void holdPreventsTheStop() {
    start("spark.sparkfuse.fuse.hold", "true");
    try (CircuitBreaker block =
        CircuitBreaker.named("held").maxTime(Duration.ofMillis(100)).open()) {
      CompletableFuture.runAsync(
          () -> {
            await("the report", () -> report(block).contains("\"held\":true"));
            release.countDown();
          });
      assertEquals(1, waiting());
      assertTrue(report(block).contains("\"stopped\":false"));
    }
  }

  /** With the fuse off, or without the plugin, blocks have no limits and nothing fails. */
  @Test
  void withoutThePluginBlocksHaveNoLimits() {
    start("spark.sparkfuse.fuse", "off");
    release.countDown();
    try (CircuitBreaker block = CircuitBreaker.named("off").maxTime(Duration.ofMillis(1)).open();
        CircuitBreaker.SafePoint commit = block.safePoint()) {
      assertEquals(1, waiting());
    }
  }

  private static String report(CircuitBreaker block) {
    return Fuse.limits().report(block.tag());
  }
}
