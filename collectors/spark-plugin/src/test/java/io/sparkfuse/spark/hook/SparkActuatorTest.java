package io.sparkfuse.spark.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.counters.StageRegistry;
import io.sparkfuse.spark.listener.DroppedEvents;
import io.sparkfuse.spark.listener.EventFilter;
import io.sparkfuse.spark.listener.SparkfuseListener;
import io.sparkfuse.spark.listener.StreamingQueries;
import io.sparkfuse.spark.safety.CollectorProtection.Level;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.SteadyClock;
import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext$;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Stops work of a real Spark in this JVM. */
class SparkActuatorTest {
  private static final AtomicInteger WAITING = new AtomicInteger();
  private static volatile CountDownLatch release;

  private final FaultCounter faults = new FaultCounter("the test");
  private final StageRegistry registry = new StageRegistry();
  private final StreamingQueries streaming = new StreamingQueries();
  private JavaSparkContext spark;
  private SparkActuator actuator;

  @BeforeEach
  void start() {
    release = new CountDownLatch(1);
    WAITING.set(0);
    spark =
        new JavaSparkContext(
            new SparkConf(false)
                .setMaster("local[4]")
                .setAppName("stops")
                .set("spark.ui.enabled", "false")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.bindAddress", "127.0.0.1"));
    SparkfuseListener listener =
        new SparkfuseListener(
            spark.getConf(),
            (lane, fact) -> {},
            registry,
            new EventFilter(() -> Level.ALL, lane -> {}),
            faults,
            "test");
    spark.sc().listenerBus().addToQueue(listener, SparkfuseListener.QUEUE);
    actuator =
        new SparkActuator(spark.sc(), registry, streaming, null, null, SteadyClock::ms, faults);
  }

  @AfterEach
  void stop() {
    release.countDown();
    spark.stop();
    // A stop on another thread may still run.
    await("the end of the context", () -> SparkContext$.MODULE$.getActive().isEmpty());
  }

  private static void await(String what, BooleanSupplier condition) {
    long untilMs = SteadyClock.ms() + 60_000;
    while (!condition.getAsBoolean()) {
      assertTrue(SteadyClock.ms() < untilMs, "still waiting for " + what);
      Thread.yield();
    }
  }

  /** Starts a job of two tasks that wait; returns its result. */
  private CompletableFuture<Void> job(String group, boolean interruptible) {
    int before = WAITING.get();
    CompletableFuture<Void> result =
        CompletableFuture.runAsync(
            () -> {
              spark.setJobGroup(group, group, false);
              spark.parallelize(java.util.Arrays.asList(1, 2), 2).foreach(n -> hold(interruptible));
            });
    // Spark reports a start before the task runs, and a task that is killed then ends at once.
    await("two tasks", () -> WAITING.get() == before + 2);
    await("their starts", () -> registry.runningTasks().size() >= 2);
    return result;
  }

  private static void hold(boolean interruptible) throws InterruptedException {
    WAITING.incrementAndGet();
    while (true) {
      try {
        release.await();
        return;
      } catch (InterruptedException interrupted) {
        if (interruptible) {
          throw interrupted;
        }
      }
    }
  }

  private int onlyStage() {
    return onlyStage(registry.runningJobs().iterator().next());
  }

  private int onlyStage(int job) {
    for (int stage = 0; stage < 10; stage++) {
      if (registry.jobsOf(stage).contains(job) && !registry.runningTasks(stage).isEmpty()) {
        return stage;
      }
    }
    throw new AssertionError("no stage runs");
  }

  private ActResult act(Signal.Builder signal) throws Exception {
    return actuator.act(signal.build(), "the reason");
  }

  private static void assertFails(CompletableFuture<Void> job, String reason) throws Exception {
    try {
      job.get();
    } catch (ExecutionException failed) {
      assertTrue(failed.getMessage().contains(reason), failed.getMessage());
      return;
    }
    throw new AssertionError("the job has succeeded");
  }

  /**
   * An act also succeeds if the job's code stops the SparkContext as soon as its action fails, as a
   * script without error handling does.
   */
  @Test
  void applicationThatEndsWithItsStageIsFreed() throws Exception {
    CompletableFuture<Void> job = job("a", true).whenComplete((done, failed) -> spark.stop());
    ActResult result = act(signal("cancel_stage").setStageId(onlyStage()));

    assertTrue(result.ended);
    assertEquals(2, result.freedTasks);
    assertFails(job, "the reason");
  }

  @Test
  void cancelledStageIsEndedAndContextUsable() throws Exception {
    CompletableFuture<Void> job = job("a", true);
    ActResult result = act(signal("cancel_stage").setStageId(onlyStage()));

    assertTrue(result.ended);
    assertEquals(2, result.freedTasks);
    assertEquals(0, result.unfreedTasks);
    assertFails(job, "the reason");
    assertEquals(1, spark.parallelize(Collections.singletonList(1)).count());
  }

  @Test
  void tasksThatIgnoreInterruptsAreUnfreed() throws Exception {
    CompletableFuture<Void> job = job("a", false);
    ActResult result = act(signal("cancel_stage").setStageId(onlyStage()));

    assertFalse(result.ended);
    assertEquals(0, result.freedTasks);
    assertEquals(2, result.unfreedTasks);
    assertFails(job, "the reason");
  }

  @Test
  void killedTaskIsEndedAndStartedAgain() throws Exception {
    CompletableFuture<Void> job = job("a", true);
    long task = registry.runningTasks().iterator().next();
    ActResult result = act(signal("kill_task").setTaskId(task));

    assertTrue(result.ended);
    assertEquals(1, result.freedTasks);
    assertFalse(registry.runningTasks().contains(task));
    release.countDown();
    job.get();
  }

  @Test
  void cancelledGroupLeavesOtherJobs() throws Exception {
    CompletableFuture<Void> ours = job("ours", true);
    CompletableFuture<Void> others = job("others", true);
    ActResult result = act(signal("cancel_query").setJobTag("ours"));

    assertTrue(result.ended);
    assertEquals(2, result.freedTasks);
    assertFails(ours, "the reason");
    assertEquals(2, registry.runningTasks().size());
    release.countDown();
    others.get();
  }

  @Test
  void allJobsAreCancelled() throws Exception {
    CompletableFuture<Void> first = job("a", true);
    CompletableFuture<Void> second = job("b", true);
    ActResult result = act(signal("cancel_jobs"));

    assertTrue(result.ended);
    assertEquals(4, result.freedTasks);
    assertFails(first, "the reason");
    assertFails(second, "the reason");
  }

  @Test
  void applicationIsStopped() throws Exception {
    CompletableFuture<Void> job = job("a", true);
    ActResult result = act(signal("stop_application").setExitCode(75));

    assertTrue(result.ended);
    assertEquals(2, result.freedTasks);
    assertTrue(spark.sc().isStopped());
    assertFails(job, "SparkContext was shut down");
    assertEquals(0, faults.count());
  }

  @Test
  void observationDescribesStageAndOwners() {
    SharedDriver shared = new SharedDriver(spark.getConf(), registry, streaming);
    DriverCounters counters =
        new DriverCounters(registry, new DroppedEvents(spark.sc())::count, false, shared);
    job("ours", true);
    int stage = onlyStage();
    Signal signal = signal("cancel_query").setStageId(stage).setJobTag("ours").build();
    Observation one = counters.observe(signal);

    assertEquals(null, one.sharedBy);
    assertEquals(0, one.droppedEvents);
    assertEquals(2, one.stageTasks.size());
    assertTrue(one.queryHasStage());
    assertEquals(1, one.queryOwners);

    job("others", true);
    Set<Integer> jobs = new TreeSet<>(registry.runningJobs());
    Observation two = counters.observe(signal);
    assertEquals(2, jobs.size());
    assertTrue(two.sharedBy.contains("2 users, sessions or job groups"), two.sharedBy);
    assertEquals(Collections.singleton(jobs.iterator().next()), two.queryJobs);
  }

  @Test
  void serversAreShared() {
    SparkConf connect =
        spark
            .getConf()
            .clone()
            .set("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin");

    assertTrue(new SharedDriver(connect, registry, streaming).reason().contains("server"));
  }

  private static Signal.Builder signal(String action) {
    return Signal.newBuilder().setAction(action);
  }
}
