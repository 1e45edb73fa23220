package io.sparkfuse.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.spark.counters.StageRegistry;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.listener.EventFilter;
import io.sparkfuse.spark.listener.SparkfuseListener;
import io.sparkfuse.spark.safety.CollectorProtection.Level;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.DriverReply;
import io.sparkfuse.spark.transport.DriverRpcClient;
import io.sparkfuse.spark.transport.ExecutorFactSink;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.KafkaRecordSink;
import io.sparkfuse.spark.transport.Sender;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests guarantee 09 of docs/plugin.md (limited memory) with the real listener, queue, sender and
 * Kafka client, and a broker that never answers.
 */
class BoundedMemoryTest {
  private static final long DRIVER_BYTES = 32L << 20;
  private static final long EXECUTOR_BYTES = 16L << 20;
  private static final Application APPLICATION =
      new Application("c", "t", "application_1700000000000_0001", 1, 1_700_000_000_000L);

  @Test
  void guarantee_09_memoryIsBoundedWithSilentBroker() throws Exception {
    try (UnresponsiveBroker hole = UnresponsiveBroker.silent()) {
      driver(hole.address(), "", 10_000, 100_000);
    }
  }

  @Test
  void guarantee_09_memoryIsBoundedWithSilentFallback() throws Exception {
    try (UnresponsiveBroker home = UnresponsiveBroker.silent();
        UnresponsiveBroker fallback = UnresponsiveBroker.silent()) {
      driver(home.address(), fallback.address(), 10_000, 100_000);
    }
  }

  @Test
  @Tag("long")
  void guarantee_09_memoryOfLargeApplicationIsBounded() throws Exception {
    try (UnresponsiveBroker hole = UnresponsiveBroker.silent()) {
      driver(hole.address(), "", 100_000, 1_000_000);
    }
  }

  @Test
  @Tag("long")
  void guarantee_09_memoryIsBoundedIfConnectionsAreDropped() throws Exception {
    try (UnresponsiveBroker hole = UnresponsiveBroker.droppingConnections()) {
      driver(hole.address(), "", 100_000, 1_000_000);
    }
  }

  private static void driver(String broker, String fallback, int stages, int tasks)
      throws Exception {
    SparkEvents events = new SparkEvents();
    events.stage(
        -1, 10, 0, event -> {}); // loads Spark's classes, which are not the plugin's memory
    SparkConf conf =
        new SparkConf(false)
            .set("spark.sparkfuse.kafka.bootstrap", broker)
            .set("spark.sparkfuse.kafka.fallback.bootstrap", fallback);
    DriverDependencies dependencies = new DriverDependencies();
    PluginSettings settings = dependencies.settings(conf);
    FaultCounter faults = new FaultCounter("test");
    long before = quietHeap();
    FactQueue queue = dependencies.queue(settings);
    StageRegistry registry = new StageRegistry();
    SparkfuseListener listener =
        new SparkfuseListener(
            conf,
            dependencies.recorder(queue),
            registry,
            new EventFilter(() -> Level.ALL, queue::skip),
            faults,
            "test");
    Sender sender =
        new Sender(
            queue,
            dependencies.backlogBytes(settings),
            dependencies.sinks(settings, "driver-test"),
            () -> APPLICATION,
            "driver-test",
            5_000,
            faults);
    sender.start(() -> null);
    long most = 0;
    int each = tasks / stages;
    for (int stage = 0; stage < stages; stage++) {
      events.stage(stage, each, (long) stage * each, e -> listener.onEvent((SparkListenerEvent) e));
      while (queue.waiting() > 4_000) { // gives the sender CPU time
        Thread.sleep(1);
      }
      if (stage % (stages / 10) == stages / 10 - 1) {
        long held = RetainedHeap.retained() - before;
        report("  after stages", stage + 1, "held", held, "of it waiting", sender.waitingBytes());
        most = Math.max(most, held);
      }
    }
    report("driver", tasks, stages, most, listener.times().quantile(0.99));
    report("  dropped starts", queue.dropped(Lane.BULK), "ends", queue.dropped(Lane.RESERVED));
    report("  waiting", sender.waiting(), "bytes", sender.waitingBytes());

    assertTrue(most < DRIVER_BYTES, most + " bytes on the heap");
    assertEquals(0, faults.count());
    TestPlugin.await(
        "each fact to be kept or counted",
        () -> accountedFor(queue, sender) == tasks * 2L + stages * 4L);
    sender.finish(1_000);
  }

  /** Waits until the threads of the previous test have ended, and returns the used heap. */
  private static long quietHeap() {
    TestPlugin.await("the threads of the previous test to end", () -> !pluginThreadsRun());
    RetainedHeap.openClassPath();
    return RetainedHeap.retained();
  }

  private static boolean pluginThreadsRun() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(thread -> thread.getName().contains("sparkfuse-"));
  }

  /**
   * Returns the number of facts that are queued, were left out, were dropped, or are in the Kafka
   * client.
   */
  private static long accountedFor(FactQueue queue, Sender sender) {
    return sender.waiting()
        + queue.leftOut()
        + queue.dropped(Lane.BULK)
        + queue.dropped(Lane.RESERVED)
        + sender.routes().pending();
  }

  @Test
  void guarantee_09_executorMemoryIsBoundedWithSilentDriver() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    try (UnresponsiveBroker hole = UnresponsiveBroker.silent()) {
      SparkConf conf =
          new SparkConf(false)
              .set("spark.sparkfuse.kafka.bootstrap", hole.address())
              .set("spark.sparkfuse.executor.patience", "1s");
      PluginSettings settings = PluginSettings.of(conf);
      FaultCounter faults = new FaultCounter("test");
      long before = quietHeap();
      AtomicInteger asked = new AtomicInteger();
      DriverRpcClient driverRpc =
          new DriverRpcClient(
              message -> {
                if (asked.getAndIncrement() > 0) {
                  never.await();
                }
                return DriverReply.text(APPLICATION, true);
              },
              faults);
      ExecutorFactSink sink =
          new ExecutorFactSink(
              settings,
              "executor-test",
              driverRpc,
              KafkaRecordSink.factories(settings, "executor-test", ExecutorFactSink.CLIENT_BYTES),
              faults);
      driverRpc.start();
      TestPlugin.await("the application", sink::ready);
      long most = 0;
      for (int pass = 0; pass < 2_000; pass++) {
        sink.send(pass(pass));
        if (pass == 500) {
          TestPlugin.await("the driver to be silent for long", () -> driverRpc.silentMs() > 1_600);
        }
        if (pass % 500 == 499) {
          most = Math.max(most, RetainedHeap.retained() - before);
        }
      }
      report("executor", 2_000, "passes of 64 tasks", most);

      assertTrue(most < EXECUTOR_BYTES, most + " bytes on the heap");
      assertEquals(0, faults.count());
      sink.close(100);
    } finally {
      never.countDown();
    }
  }

  private static List<Fact.Builder> pass(long pass) {
    char[] stack = new char[2_000];
    java.util.Arrays.fill(stack, (char) ('a' + pass % 26));
    List<Fact.Builder> facts = new ArrayList<>();
    facts.add(Fact.newBuilder().setExecutorSample(ExecutorSample.newBuilder().setCpuNs(pass)));
    for (int task = 0; task < 64; task++) {
      TaskProgress.Builder progress =
          TaskProgress.newBuilder().setTaskId(pass * 64 + task).setStack(new String(stack));
      facts.add(Fact.newBuilder().setTaskProgress(progress));
    }
    return facts;
  }

  private static void report(Object... words) {
    StringBuilder line = new StringBuilder("MEMORY");
    for (Object word : words) {
      line.append(' ').append(word);
    }
    System.out.println(line);
  }
}
