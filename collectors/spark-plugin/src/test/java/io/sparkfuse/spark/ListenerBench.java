package io.sparkfuse.spark;

import io.sparkfuse.spark.counters.StageRegistry;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.listener.CallbackTimes;
import io.sparkfuse.spark.listener.EventFilter;
import io.sparkfuse.spark.listener.SparkfuseListener;
import io.sparkfuse.spark.safety.CollectorProtection.Level;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.DeliveryCounters;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.RecordSink;
import io.sparkfuse.spark.transport.Sender;
import java.lang.management.ManagementFactory;
import java.util.Collections;
import java.util.Locale;
import org.apache.spark.SparkConf;
import org.apache.spark.Success$;
import org.apache.spark.executor.ExecutorMetrics;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskLocality;
import org.junit.jupiter.api.Test;

/**
 * Measures the cost of a listener callback, with Spark's own events and the real limits of the
 * queue; asserts nothing.
 *
 * <p>Usage: {@code mvn -q -o test -Dtest=ListenerBench -Dbench.tasks=100000}. The JVM is cold, as
 * in an application, so the measurement includes the first, interpreted calls.
 */
class ListenerBench {
  private static final int TASKS = Integer.getInteger("bench.tasks", 100_000);
  private static final int STAGE_TASKS = 1_000;

  private final SparkConf conf = new SparkConf(false);
  private final DriverDependencies dependencies = new DriverDependencies();
  private final PluginSettings settings = dependencies.settings(conf);
  private final FactQueue queue = dependencies.queue(settings);
  private final SparkfuseListener listener =
      new SparkfuseListener(
          conf,
          dependencies.recorder(queue),
          new StageRegistry(),
          new EventFilter(() -> Level.ALL, queue::skip),
          new FaultCounter("bench"),
          "bench");

  private static TaskInfo info(int task) {
    return new TaskInfo(
        task,
        task % STAGE_TASKS,
        0,
        task % STAGE_TASKS,
        1_700_000_000_000L + task,
        Integer.toString(task % 50),
        "worker-" + task % 50 + ".example.internal",
        TaskLocality.PROCESS_LOCAL(),
        false);
  }

  private static TaskMetrics metrics(int task) {
    TaskMetrics metrics = new TaskMetrics();
    metrics.setExecutorRunTime(5_000 + task);
    metrics.setExecutorCpuTime(4_000_000_000L + task);
    metrics.setExecutorDeserializeTime(12);
    metrics.setResultSize(4_096);
    metrics.setJvmGCTime(310);
    metrics.inputMetrics().setBytesRead(128L << 20);
    metrics.shuffleReadMetrics().setRemoteBytesRead(64L << 20);
    metrics.shuffleReadMetrics().setRecordsRead(1_000_000);
    metrics.shuffleWriteMetrics().incBytesWritten(32L << 20);
    return metrics;
  }

  private static SparkListenerTaskEnd end(int task) {
    TaskInfo info = info(task);
    info.markFinished(org.apache.spark.TaskState.FINISHED(), 1_700_000_005_000L + task);
    return new SparkListenerTaskEnd(
        task / STAGE_TASKS,
        0,
        "ResultTask",
        Success$.MODULE$,
        info,
        new ExecutorMetrics(),
        metrics(task));
  }

  @Test
  void callbacksOfManyTasks() throws Exception {
    Application application = new Application("c", "t", "app-1", 0, 5);
    Sender sender =
        new Sender(
            queue,
            dependencies.backlogBytes(settings),
            Collections.singletonList(ListenerBench::everything),
            () -> application,
            "bench",
            Long.MAX_VALUE / 2,
            new FaultCounter("bench"));
    sender.start(() -> null);
    com.sun.management.ThreadMXBean thread =
        (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    long self = Thread.currentThread().getId();
    long allocated = 0;
    long nanos = 0;
    for (int task = 0; task < TASKS; task++) {
      SparkListenerTaskStart start = new SparkListenerTaskStart(task / STAGE_TASKS, 0, info(task));
      SparkListenerTaskEnd end = end(task);
      long bytes = thread.getThreadAllocatedBytes(self);
      long began = System.nanoTime();
      listener.onEvent(start);
      listener.onEvent(end);
      nanos += System.nanoTime() - began;
      allocated += thread.getThreadAllocatedBytes(self) - bytes;
    }
    sender.finish(10_000);
    CallbackTimes times = listener.times();
    System.out.printf(
        Locale.ROOT,
        "callbacks %d: mean %d ns, p50 %d, p99 %d, p99.9 %d, max %d ns; %d bytes each; dropped %d%n",
        2 * TASKS,
        nanos / (2L * TASKS),
        times.quantile(0.5),
        times.quantile(0.99),
        times.quantile(0.999),
        times.longest(),
        allocated / (2L * TASKS),
        queue.dropped(Lane.BULK) + queue.dropped(Lane.RESERVED));
  }

  /** A broker that accepts every record immediately. */
  private static RecordSink everything(DeliveryCounters deliveries) {
    return new RecordSink() {
      @Override
      public boolean send(String topic, String key, byte[] value) {
        return true;
      }

      @Override
      public void close(long budgetMs) {}
    };
  }
}
