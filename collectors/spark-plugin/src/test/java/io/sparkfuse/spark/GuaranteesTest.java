package io.sparkfuse.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.Fact.KindCase;
import io.sparkfuse.spark.listener.FactRecorder;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.sampler.TaskListener;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.ExecutorFactSink;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.RecordSink;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests those guarantees of docs/plugin.md that need only a real Spark in one JVM. */
class GuaranteesTest {
  private final TestPlugin.Memory memory = new TestPlugin.Memory();

  @Test
  void guarantee_02_hangingSinkBlocksNeitherCallbacksNorStop() {
    CountDownLatch never = new CountDownLatch(1);
    DriverDependencies dependencies =
        new DriverDependencies() {
          @Override
          List<RecordSink.Factory> sinks(PluginSettings settings, String collector) {
            return Collections.singletonList(
                deliveries ->
                    new RecordSink() {
                      @Override
                      public boolean send(String topic, String key, byte[] value) {
                        try {
                          never.await();
                        } catch (InterruptedException interrupted) {
                          Thread.currentThread().interrupt();
                        }
                        return false;
                      }

                      @Override
                      public void close(long budgetMs) {}
                    });
          }
        };
    try (JavaSparkContext spark = TestPlugin.spark(dependencies, new ExecutorDependencies())) {
      TestPlugin.assertJobSucceeds(spark);
      // Spark waits here until every listener has received every event.
      TestPlugin.await("all events to be delivered", () -> allEventsDelivered(spark));
    }
    never.countDown();
  }

  private static boolean allEventsDelivered(JavaSparkContext spark) {
    try {
      spark.sc().listenerBus().waitUntilEmpty(50);
      return true;
    } catch (java.util.concurrent.TimeoutException notYet) {
      return false;
    }
  }

  @Test
  void guarantee_03_eventsDroppedBySparkAreReported() {
    CountDownLatch go = new CountDownLatch(1);
    AtomicInteger seenByOthers = new AtomicInteger();
    DriverDependencies dependencies =
        new DriverDependencies() {
          @Override
          FactRecorder recorder(FactQueue queue) {
            FactRecorder real = super.recorder(queue);
            return (lane, fact) -> {
              awaitQuietly(go);
              real.record(lane, fact);
            };
          }

          @Override
          List<RecordSink.Factory> sinks(PluginSettings settings, String collector) {
            return Collections.singletonList(memory::open);
          }
        };
    try (JavaSparkContext spark =
        TestPlugin.spark(
            dependencies,
            new ExecutorDependencies(),
            "spark.scheduler.listenerbus.eventqueue.sparkfuse.capacity",
            "10")) {
      spark
          .sc()
          .addSparkListener(
              new SparkListener() {
                @Override
                public void onTaskEnd(SparkListenerTaskEnd end) {
                  seenByOthers.incrementAndGet();
                }
              });
      List<Integer> numbers = IntStream.range(0, 100).boxed().collect(Collectors.toList());
      assertEquals(4_950, spark.parallelize(numbers, 100).reduce(Integer::sum));
      TestPlugin.await("the other listener to see all", () -> seenByOthers.get() == 100);
      go.countDown();
      TestPlugin.await(
          "Spark's drops in the health", () -> memory.health().getSparkDroppedEvents() > 100);
    }

    assertTrue(memory.of(KindCase.TASK_ENDED).size() < 100);
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void guarantee_04_threadsAreNamedDaemonsAndEndWithContext() {
    Set<Thread> before = threads();
    try (JavaSparkContext spark =
        TestPlugin.spark(
            memory.driver(),
            new ExecutorDependencies(),
            "spark.sparkfuse.switchFile",
            "/nowhere/off",
            "spark.sparkfuse.executor.transport",
            "direct",
            "spark.sparkfuse.kafka.bootstrap",
            "127.0.0.1:1")) {
      TestPlugin.assertJobSucceeds(spark);
      TestPlugin.await(
          "all of them",
          () ->
              ours(before)
                  .containsAll(
                      new HashSet<>(
                          Arrays.asList(
                              "sparkfuse-sender",
                              "sparkfuse-guard",
                              "sparkfuse-switch",
                              "sparkfuse-sampler",
                              "sparkfuse-driver-rpc"))));
      for (Thread thread : threads()) {
        boolean ours = thread.getName().contains("sparkfuse-");
        assertTrue(!ours || thread.isDaemon(), thread.getName());
        assertTrue(
            !thread.getName().startsWith("sparkfuse-") || isGuarded(thread), thread.getName());
      }
    }
    try {
      TestPlugin.await("all of them to end", () -> ours(before).isEmpty());
    } catch (AssertionError error) {
      throw new AssertionError(stacksOf(before), error);
    }
  }

  /** Returns the names and the stacks of the plugin's threads that still run. */
  private static String stacksOf(Set<Thread> before) {
    return threads().stream()
        .filter(thread -> !before.contains(thread) && thread.getName().startsWith("sparkfuse-"))
        .map(thread -> thread.getName() + " " + Arrays.toString(thread.getStackTrace()))
        .collect(Collectors.joining("\n"));
  }

  /**
   * Returns whether the plugin handles uncaught errors of the thread; also true if the thread has
   * ended.
   */
  private static boolean isGuarded(Thread thread) {
    Thread.UncaughtExceptionHandler handler = thread.getUncaughtExceptionHandler();
    if (handler == null) { // a thread that ends, such as sparkfuse-connect, loses its handler
      TestPlugin.await(thread.getName() + " to end", () -> !thread.isAlive());
      return true;
    }
    return !(handler instanceof ThreadGroup); // the default of a thread without its own handler
  }

  private static Set<Thread> threads() {
    return new HashSet<>(Thread.getAllStackTraces().keySet());
  }

  private static Set<String> ours(Set<Thread> before) {
    // Spark names the thread of a listener queue after the queue.
    return threads().stream()
        .filter(thread -> !before.contains(thread))
        .map(Thread::getName)
        .filter(name -> name.startsWith("sparkfuse-"))
        .collect(Collectors.toSet());
  }

  @Test
  void guarantee_06_slowCallbacksOpenProtectionThenProbe() {
    List<Integer> numbers = Collections.nCopies(1_500, 1);
    try (JavaSparkContext spark =
        TestPlugin.spark(
            memory.driver(),
            new ExecutorDependencies(),
            "spark.sparkfuse.protection.callbackBudget",
            "1us",
            "spark.sparkfuse.protection.pause",
            "1s")) {
      TestPlugin.await(
          "the protection to open",
          () -> {
            spark.parallelize(numbers, 1_500).count();
            return memory.health().getProtection().equals("open");
          });
      assertEquals("callbacks", memory.health().getProtectionReason());
      TestPlugin.await("the try", () -> memory.health().getProtection().equals("half-open"));
      TestPlugin.assertJobSucceeds(spark);
      assertTrue(memory.health().getPassedOver() > 0);
    }
  }

  @Test
  void guarantee_07_switchFileTurnsCollectorOffAndOn(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("off");
    try (JavaSparkContext spark =
        TestPlugin.spark(
            memory.driver(),
            new ExecutorDependencies(),
            "spark.sparkfuse.switchFile",
            file.toString())) {
      TestPlugin.assertJobSucceeds(spark);
      TestPlugin.await("the first job", () -> memory.of(KindCase.JOB_ENDED).size() == 1);
      Files.createFile(file);
      TestPlugin.await(
          "it to be off", () -> memory.health().getProtectionReason().equals("switched off"));
      TestPlugin.assertJobSucceeds(spark);
      TestPlugin.await("the passed-over job", () -> memory.health().getPassedOver() >= 16);
      int samples = memory.of(KindCase.EXECUTOR_SAMPLE).size();
      Files.delete(file);
      TestPlugin.await("it to be on", () -> memory.health().getProtection().equals("closed"));
      TestPlugin.await("a sample", () -> memory.of(KindCase.EXECUTOR_SAMPLE).size() > samples);
      TestPlugin.assertJobSucceeds(spark);
    }

    assertEquals(
        Arrays.asList(0, 2),
        memory.of(KindCase.JOB_ENDED).stream()
            .map(fact -> fact.getJobEnded().getJobId())
            .collect(Collectors.toList()));
    assertEquals(1, memory.of(KindCase.APPLICATION_ENDED).size());
    List<Long> numbers = reservedNumbers();
    assertEquals(
        memory.health().getPassedOver() - 5, // five task starts in the other lane
        numbers.get(numbers.size() - 1) + 1 - numbers.size(),
        "what was passed over is a hole");
  }

  private List<Long> reservedNumbers() {
    return memory.facts().stream()
        .filter(fact -> fact.getLane().equals("reserved"))
        .map(Fact::getSeq)
        .collect(Collectors.toList());
  }

  @Test
  void guarantee_07_disabledPluginDoesNothing() {
    Set<Thread> before = threads();
    try (JavaSparkContext spark =
        TestPlugin.spark(
            memory.driver(), new ExecutorDependencies(), "spark.sparkfuse.enabled", "false")) {
      TestPlugin.assertJobSucceeds(spark);

      assertEquals(Collections.emptySet(), ours(before));
    }
    assertEquals(Collections.emptyList(), memory.facts());
  }

  @Test
  void guarantee_07_invalidSettingsDoNotPreventStart() {
    String[] keys = {
      "kafka.bootstrap",
      "kafka.configFile",
      "topic.prefix",
      "cluster",
      "tenant",
      "queue.facts",
      "queue.bytes",
      "queue.reserved",
      "sample.interval",
      "sample.stackAfter",
      "sample.pythonGrace",
      "executor.transport",
      "executor.patience",
      "health.interval",
      "switchFile",
      "protection.leastFreeHeap",
      "protection.mostGcShare",
      "protection.callbackBudget",
      "protection.pause",
      "fuse",
      "fuse.publicKeys",
      "fuse.hold",
      "enabled",
      "no.such.key"
    };
    for (String value : new String[] {"", "\u0000:-1/\n", "99999999999999999999", "-5"}) {
      String[] settings = new String[2 * keys.length];
      for (int i = 0; i < keys.length; i++) {
        settings[2 * i] = "spark.sparkfuse." + keys[i];
        settings[2 * i + 1] = value;
      }
      try (JavaSparkContext spark =
          TestPlugin.spark(new DriverDependencies(), new ExecutorDependencies(), settings)) {
        TestPlugin.assertJobSucceeds(spark);
      }
    }
  }

  @Test
  void guarantee_10_silentExecutorDoesNotBlockTasks() {
    CountDownLatch never = new CountDownLatch(1);
    ExecutorDependencies dependencies =
        new ExecutorDependencies() {
          @Override
          TaskListener taskListener(
              PluginSettings settings,
              String executorId,
              Supplier<String> host,
              ExecutorFactSink sink,
              FaultCounter faults) {
            Supplier<String> hangs =
                () -> {
                  awaitQuietly(never);
                  return host.get();
                };
            return super.taskListener(settings, executorId, hangs, sink, faults);
          }
        };
    try (JavaSparkContext spark = TestPlugin.spark(memory.driver(), dependencies)) {
      TestPlugin.await(
          "the sampler to hang",
          () ->
              Thread.getAllStackTraces().entrySet().stream()
                  .anyMatch(
                      entry ->
                          entry.getKey().getName().equals("sparkfuse-sampler")
                              && Arrays.toString(entry.getValue()).contains("CountDownLatch")));
      TestPlugin.assertJobSucceeds(spark);
      TestPlugin.assertJobSucceeds(spark);

      assertEquals(0, memory.of(KindCase.EXECUTOR_SAMPLE).size());
    }
    never.countDown();
  }

  @Test
  void guarantee_11_hugeFailureTextIsCutAndScrubbed() {
    try (JavaSparkContext spark = TestPlugin.spark(memory.driver(), new ExecutorDependencies())) {
      boolean failed = false;
      try {
        spark.parallelize(Arrays.asList(1, 2), 2).foreach(number -> failLoudly());
      } catch (Exception expected) {
        failed = true;
      }

      assertTrue(failed);
    }
    List<Fact> ended = memory.of(KindCase.TASK_ENDED);
    assertFalse(ended.isEmpty());
    for (Fact fact : memory.facts()) {
      assertTrue(fact.getSerializedSize() < 256_000, fact.getKindCase().name());
      assertFalse(fact.toString().contains("hunter2"), fact.getKindCase().name());
    }
  }

  private static void failLoudly() {
    char[] many = new char[5_000_000];
    Arrays.fill(many, 'x');
    throw new IllegalStateException("password=hunter2 " + new String(many));
  }

  @Test
  void guarantee_12_repeatedEventHasSameId() {
    try (JavaSparkContext spark = TestPlugin.spark(memory.driver(), new ExecutorDependencies())) {
      TestPlugin.assertJobSucceeds(spark);
      spark.sc().listenerBus().post(new SparkListenerApplicationEnd(17));
    }
    List<Fact> ends = memory.of(KindCase.APPLICATION_ENDED);

    assertEquals(2, ends.size());
    assertEquals(ends.get(0).getEventId(), ends.get(1).getEventId());
  }

  @Test
  void guarantee_13_healthIsReportedWhileJobIsIdle() {
    try (JavaSparkContext spark = TestPlugin.spark(memory.driver(), new ExecutorDependencies())) {
      TestPlugin.await(
          "three signs of life", () -> memory.of(KindCase.COLLECTOR_HEALTH).size() >= 3);
    }
    CollectorHealth last = memory.health();

    assertEquals("closed", last.getProtection());
    assertEquals(0, last.getFaults());
    assertTrue(last.getCallbackMaxNs() >= last.getCallbackP99Ns() / 2);
  }

  @Test
  void guarantee_02_factsArriveOnceAndInOrder() {
    try (JavaSparkContext spark = TestPlugin.spark(memory.driver(), new ExecutorDependencies())) {
      TestPlugin.assertJobSucceeds(spark);
    }
    List<Long> numbers = reservedNumbers();

    assertEquals(LongStream.range(0, numbers.size()).boxed().collect(Collectors.toList()), numbers);
    assertEquals(5, memory.of(KindCase.TASK_ENDED).size());
    assertEquals(
        "reserved", memory.of(KindCase.TASK_ENDED).get(0).getLane(), "the end of a task must stay");
  }
}
