package io.sparkfuse.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.listener.FactRecorder;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.sampler.TaskListener;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.ExecutorFactSink;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.RecordSink;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListenerBlockManagerRemoved;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerNodeExcluded;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import scala.Option;

/**
 * Tests guarantee 01 of docs/plugin.md with a real SparkContext: for any error in any entry point
 * of the plugin, the job's result is right, the context stays alive, and the lost facts are
 * counted.
 */
class ErrorGuaranteesTest {
  /** An Error like ThreadDeath, a class that newer JVMs no longer have. */
  static final class EndOfThreadError extends Error {}

  static Stream<Supplier<Throwable>> throwables() {
    return Stream.of(
        named(() -> new NoSuchMethodError("test")),
        named(() -> new NoClassDefFoundError("test")),
        named(() -> new LinkageError("test")),
        named(() -> new ExceptionInInitializerError("test")),
        named(() -> new StackOverflowError("test")),
        named(() -> new OutOfMemoryError("test")),
        named(() -> new InternalError("test")),
        named(() -> new AssertionError("test")),
        named(EndOfThreadError::new),
        named(() -> new IllegalStateException("test")),
        named(() -> new InterruptedException("test")),
        named(ErrorGuaranteesTest::realOverflow),
        named(ErrorGuaranteesTest::realOutOfMemory));
  }

  private static Throwable realOverflow() {
    try {
      return realOverflow();
    } catch (StackOverflowError overflow) {
      return overflow;
    }
  }

  private static Throwable realOutOfMemory() {
    try {
      return new IllegalStateException("" + new long[Integer.MAX_VALUE].length);
    } catch (OutOfMemoryError full) {
      return full;
    }
  }

  private static Supplier<Throwable> named(Supplier<Throwable> make) {
    return new Supplier<Throwable>() {
      @Override
      public Throwable get() {
        return make.get();
      }

      @Override
      public String toString() {
        return make.get().getClass().getSimpleName();
      }
    };
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable, R> R sneak(Throwable any) throws T {
    throw (T) any;
  }

  /** Throws in every call that the driver plugin makes after its start. */
  private static final class HostileDriver extends DriverDependencies {
    final Supplier<Throwable> make;
    final Set<Fact.KindCase> kinds = ConcurrentHashMap.newKeySet();
    final AtomicInteger forwarded = new AtomicInteger();
    final AtomicInteger registered = new AtomicInteger();
    final AtomicInteger shutDown = new AtomicInteger();
    final TestPlugin.Memory memory = new TestPlugin.Memory();

    HostileDriver(Supplier<Throwable> make) {
      this.make = make;
    }

    @Override
    FactRecorder recorder(FactQueue queue) {
      return (lane, fact) -> {
        kinds.add(fact.getKindCase());
        HostileDriver.<RuntimeException, Void>fail(make);
      };
    }

    @Override
    void forward(FactQueue queue, byte[] fact) {
      forwarded.incrementAndGet();
      HostileDriver.<RuntimeException, Void>fail(make);
    }

    @Override
    Application application(PluginSettings settings, SparkContext context, String appId) {
      // Without an application nothing would be sent; another test covers an error here.
      registered.incrementAndGet();
      return super.application(settings, context, appId);
    }

    @Override
    long shutdownMs() {
      if (shutDown.getAndIncrement() == 0) {
        return HostileDriver.<RuntimeException, Long>fail(make);
      }
      return super.shutdownMs();
    }

    @Override
    List<RecordSink.Factory> sinks(PluginSettings settings, String collector) {
      return Collections.singletonList(memory::open);
    }

    static <T extends Throwable, R> R fail(Supplier<Throwable> make) throws T {
      return ErrorGuaranteesTest.<T, R>sneak(make.get());
    }
  }

  /** Throws in every method that Spark calls for a task. */
  private static final class HostileExecutor extends ExecutorDependencies {
    final Supplier<Throwable> make;
    final AtomicInteger began = new AtomicInteger();
    final AtomicInteger ended = new AtomicInteger();
    final AtomicInteger stopped = new AtomicInteger();

    HostileExecutor(Supplier<Throwable> make) {
      this.make = make;
    }

    @Override
    TaskListener taskListener(
        PluginSettings settings,
        String executorId,
        Supplier<String> host,
        ExecutorFactSink sink,
        FaultCounter faults) {
      TaskListener real = super.taskListener(settings, executorId, host, sink, faults);
      return new TaskListener() {
        @Override
        public void start() {
          real.start();
        }

        @Override
        public void taskStarted() {
          began.incrementAndGet();
          real.taskStarted();
          HostileDriver.<RuntimeException, Void>fail(make);
        }

        @Override
        public void taskEnded() {
          ended.incrementAndGet();
          real.taskEnded();
          HostileDriver.<RuntimeException, Void>fail(make);
        }

        @Override
        public void stop() {
          stopped.incrementAndGet();
          real.stop();
          HostileDriver.<RuntimeException, Void>fail(make);
        }
      };
    }
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("throwables")
  void guarantee_01_errorsInCallbacksAreCountedAndJobSucceeds(Supplier<Throwable> make) {
    HostileDriver driver = new HostileDriver(make);
    HostileExecutor executor = new HostileExecutor(make);
    try (JavaSparkContext spark = TestPlugin.spark(driver, executor)) {
      TestPlugin.assertJobSucceeds(spark);
      TestPlugin.assertJobFailsWithOwnError(spark);
      spark.sc().listenerBus().post(new SparkListenerExecutorRemoved(1, "7", "lost"));
      spark.sc().listenerBus().post(new SparkListenerNodeExcluded(1, "worker", 2));
      BlockManagerId store = BlockManagerId.apply("7", "worker", 1, Option.empty());
      spark.sc().listenerBus().post(new SparkListenerBlockManagerRemoved(1, store));
      TestPlugin.assertJobSucceeds(spark);
      TestPlugin.await("a sample of the executor", () -> driver.forwarded.get() > 0);
      TestPlugin.await(
          "the loss in the collector's health",
          () -> {
            CollectorHealth health = driver.memory.health();
            return health.getPassedOver() >= 20 && health.getFaults() > health.getPassedOver();
          });
    }

    assertTrue(
        driver.kinds.containsAll(
            EnumSet.of(
                Fact.KindCase.APPLICATION_STARTED,
                Fact.KindCase.EXECUTOR_ADDED,
                Fact.KindCase.EXECUTOR_REMOVED,
                Fact.KindCase.BLOCK_MANAGER_ADDED,
                Fact.KindCase.BLOCK_MANAGER_REMOVED,
                Fact.KindCase.NODE_EVENT,
                Fact.KindCase.JOB_STARTED,
                Fact.KindCase.JOB_ENDED,
                Fact.KindCase.STAGE_STARTED,
                Fact.KindCase.STAGE_ENDED,
                Fact.KindCase.TASK_STARTED,
                Fact.KindCase.TASK_ENDED,
                Fact.KindCase.APPLICATION_ENDED)),
        driver.kinds.toString());
    assertEquals(11, executor.began.get());
    assertEquals(11, executor.ended.get(), "one of them failed");
    assertEquals(1, executor.stopped.get());
    assertEquals(1, driver.shutDown.get());
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("throwables")
  void guarantee_01_jobRunsIfPluginFailsToStart(Supplier<Throwable> make) {
    DriverDependencies driver =
        new DriverDependencies() {
          @Override
          PluginSettings settings(SparkConf conf) {
            return HostileDriver.<RuntimeException, PluginSettings>fail(make);
          }
        };
    ExecutorDependencies executor =
        new ExecutorDependencies() {
          @Override
          PluginSettings settings(SparkConf conf) {
            return HostileDriver.<RuntimeException, PluginSettings>fail(make);
          }
        };
    try (JavaSparkContext spark = TestPlugin.spark(driver, executor)) {
      TestPlugin.assertJobSucceeds(spark);
    }
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("throwables")
  void guarantee_01_jobRunsIfRegistrationFails(Supplier<Throwable> make) {
    DriverDependencies driver =
        new DriverDependencies() {
          @Override
          Application application(PluginSettings settings, SparkContext context, String appId) {
            return HostileDriver.<RuntimeException, Application>fail(make);
          }
        };
    try (JavaSparkContext spark = TestPlugin.spark(driver, new ExecutorDependencies())) {
      TestPlugin.assertJobSucceeds(spark);
    }
  }
}
