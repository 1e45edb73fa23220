package io.sparkfuse.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.OperatingSystemMXBean;
import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.FactEncoder;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.RecordSink;
import java.lang.management.ManagementFactory;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Measures one driver that a thousand executors call through Spark's plugin RPC. Each executor
 * sends a sample and the progress of eight tasks.
 */
class RpcLoadTest {
  private static final int EXECUTORS = 1_000;
  private static final int TASKS = 8;

  private static final AtomicLong FORWARDED = new AtomicLong();
  private static volatile PluginContext executorContext;

  /**
   * A plugin with the real driver plugin, and with an executor plugin that only stores its context.
   */
  public static final class LoadedPlugin implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
      return new SparkfuseDriverPlugin(
          new DriverDependencies() {
            @Override
            void forward(FactQueue queue, byte[] fact) {
              super.forward(queue, fact);
              FORWARDED.incrementAndGet();
            }

            @Override
            List<RecordSink.Factory> sinks(PluginSettings settings, String collector) {
              return Collections.singletonList(new TestPlugin.Memory()::openAndForget);
            }
          });
    }

    @Override
    public ExecutorPlugin executorPlugin() {
      return new ExecutorPlugin() {
        @Override
        public void init(PluginContext context, Map<String, String> extraConf) {
          executorContext = context;
        }
      };
    }
  }

  private static JavaSparkContext spark() {
    FORWARDED.set(0);
    SparkConf conf =
        new SparkConf(false)
            .setMaster("local[2]")
            .setAppName("load")
            .set("spark.ui.enabled", "false")
            .set("spark.driver.host", "127.0.0.1")
            .set("spark.plugins", LoadedPlugin.class.getName());
    return new JavaSparkContext(conf);
  }

  private static byte[][] batch(FactEncoder encoder, Application application, int executor) {
    long now = System.currentTimeMillis();
    byte[][] batch = new byte[1 + TASKS][];
    ExecutorSample.Builder sample =
        ExecutorSample.newBuilder()
            .setExecutorId("" + executor)
            .setHost("worker-" + executor)
            .setHeapUsedBytes(now)
            .setCpuNs(now * 1_000);
    Fact.Builder first = Fact.newBuilder().setEventTimeMs(now).setExecutorSample(sample);
    batch[0] = encoder.encode(first, application, Lane.BULK, 0);
    for (int task = 1; task <= TASKS; task++) {
      TaskProgress.Builder progress =
          TaskProgress.newBuilder()
              .setTaskId((long) executor * TASKS + task)
              .setExecutorId("" + executor)
              .setHost("worker-" + executor)
              .setInputBytes(now)
              .setShuffleReadBytes(now)
              .setActivity("moving");
      Fact.Builder fact = Fact.newBuilder().setEventTimeMs(now).setTaskProgress(progress);
      batch[task] = encoder.encode(fact, application, Lane.BULK, task);
    }
    return batch;
  }

  @Test
  void driverReceivesBatchesOfThousandExecutors() throws Exception {
    try (JavaSparkContext spark = spark()) {
      Application application = new Application("c", "t", spark.sc().applicationId(), 0, 1);
      FactEncoder encoder = new FactEncoder("executor-test");
      for (int executor = 0; executor < EXECUTORS; executor++) {
        Object answer = executorContext.ask(batch(encoder, application, executor));

        assertEquals(application.id, Application.ofLine(answer).id);
      }
      assertEquals(EXECUTORS * (1L + TASKS), FORWARDED.get());
      TestPlugin.assertJobSucceeds(spark);
    }
  }

  /** Prints the maximum number of batches per second and the CPU time of one batch. */
  @Test
  @Tag("long")
  void maximumRateOfBatches() throws Exception {
    OperatingSystemMXBean system =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    try (JavaSparkContext spark = spark()) {
      Application application = new Application("c", "t", spark.sc().applicationId(), 0, 1);
      FactEncoder encoder = new FactEncoder("executor-test");
      byte[][][] batches = new byte[EXECUTORS][][];
      for (int executor = 0; executor < EXECUTORS; executor++) {
        batches[executor] = batch(encoder, application, executor);
      }
      for (int round = 0; round < 3; round++) {
        long asked = 0;
        long began = System.nanoTime();
        long cpu = system.getProcessCpuTime();
        while (System.nanoTime() - began < 10_000_000_000L) {
          executorContext.ask(batches[(int) (asked++ % EXECUTORS)]);
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        double cpuUs = (system.getProcessCpuTime() - cpu) / 1e3 / asked;
        System.out.printf(
            "RPC %.0f batches/s, %.0f facts/s, %.0f us of CPU a batch; 1,000 executors every 5 s:"
                + " 200 batches/s, %.1f %% of a core%n",
            asked / seconds, asked * (1 + TASKS) / seconds, cpuUs, 200 * cpuUs / 1e4);

        assertTrue(asked > 200 * seconds, "a thousand executors every 5 s");
      }
    }
  }
}
