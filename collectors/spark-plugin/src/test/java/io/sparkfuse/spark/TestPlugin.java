package io.sparkfuse.spark;

import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.DeliveryCounters;
import io.sparkfuse.spark.transport.RecordSink;
import io.sparkfuse.spark.transport.TestDeliveryCounters;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * The plugin on a real Spark with dependencies that a test provides. Spark creates the plugin by
 * its class name, so the dependencies are static fields.
 */
public final class TestPlugin implements SparkPlugin {
  private static volatile DriverDependencies driverDependencies;
  private static volatile ExecutorDependencies executorDependencies;

  @Override
  public DriverPlugin driverPlugin() {
    return new SparkfuseDriverPlugin(driverDependencies);
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new SparkfuseExecutorPlugin(executorDependencies);
  }

  /** Starts a Spark in this JVM with a plugin that uses these dependencies. */
  static JavaSparkContext spark(
      DriverDependencies driver, ExecutorDependencies executor, String... settings) {
    driverDependencies = driver;
    executorDependencies = executor;
    SparkConf conf =
        new SparkConf(false)
            .setMaster("local[2]")
            .setAppName("plugin of tests")
            .set("spark.ui.enabled", "false")
            .set("spark.driver.host", "127.0.0.1")
            .set("spark.driver.bindAddress", "127.0.0.1")
            .set("spark.plugins", TestPlugin.class.getName())
            .set("spark.sparkfuse.health.interval", "100ms")
            .set("spark.sparkfuse.sample.interval", "100ms");
    for (int i = 0; i < settings.length; i += 2) {
      conf.set(settings[i], settings[i + 1]);
    }
    return new JavaSparkContext(conf);
  }

  /** Runs a job of two stages and five tasks and checks its result. */
  static void assertJobSucceeds(JavaSparkContext spark) {
    int sum =
        spark
            .parallelize(Arrays.asList(1, 2, 3, 4, 5, 6), 3)
            .mapToPair(number -> new scala.Tuple2<>(number % 2, number))
            .reduceByKey(Integer::sum, 2)
            .values()
            .reduce(Integer::sum);
    if (sum != 21 || spark.sc().isStopped()) {
      throw new AssertionError("the job's result is " + sum);
    }
  }

  /**
   * Runs a job whose task fails; checks that the exception is the job's own and that the context
   * stays alive.
   */
  static void assertJobFailsWithOwnError(JavaSparkContext spark) {
    try {
      spark
          .parallelize(Arrays.asList(1), 1)
          .foreach(
              number -> {
                throw new IllegalArgumentException("the job's own");
              });
      throw new AssertionError("the job did not fail");
    } catch (Exception failed) {
      if (!String.valueOf(failed.getMessage()).contains("the job's own")
          || spark.sc().isStopped()) {
        throw new AssertionError(failed);
      }
    }
  }

  /** A sink that collects the facts that are sent to it. */
  static final class Memory {
    private final List<Fact> facts = Collections.synchronizedList(new ArrayList<>());

    RecordSink open(DeliveryCounters deliveries) {
      return new RecordSink() {
        @Override
        public boolean send(String topic, String key, byte[] value) {
          if (topic.equals("facts")) {
            try {
              facts.add(Fact.parseFrom(value));
            } catch (Exception broken) {
              throw new IllegalStateException(broken);
            }
          }
          TestDeliveryCounters.acknowledge(deliveries);
          return true;
        }

        @Override
        public void close(long budgetMs) {}
      };
    }

    /** Returns a sink that accepts and discards every record. */
    RecordSink openAndForget(DeliveryCounters deliveries) {
      return new RecordSink() {
        @Override
        public boolean send(String topic, String key, byte[] value) {
          TestDeliveryCounters.acknowledge(deliveries);
          return true;
        }

        @Override
        public void close(long budgetMs) {}
      };
    }

    List<Fact> facts() {
      synchronized (facts) {
        return new ArrayList<>(facts);
      }
    }

    List<Fact> of(Fact.KindCase kind) {
      return facts().stream()
          .filter(fact -> fact.getKindCase() == kind)
          .collect(Collectors.toList());
    }

    /** Returns the latest health of the driver's collector. */
    CollectorHealth health() {
      List<Fact> all = of(Fact.KindCase.COLLECTOR_HEALTH);
      return all.isEmpty()
          ? CollectorHealth.getDefaultInstance()
          : all.get(all.size() - 1).getCollectorHealth();
    }

    DriverDependencies driver() {
      return new DriverDependencies() {
        @Override
        List<RecordSink.Factory> sinks(PluginSettings settings, String collector) {
          return Collections.singletonList(Memory.this::open);
        }
      };
    }
  }

  /** Waits for a condition for at most one minute. */
  static void await(String what, BooleanSupplier condition) {
    long untilNs = System.nanoTime() + 60_000_000_000L;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > untilNs) {
        throw new AssertionError("still waiting for " + what);
      }
      try {
        Thread.sleep(10);
      } catch (InterruptedException interrupted) {
        throw new AssertionError(interrupted);
      }
    }
  }
}
