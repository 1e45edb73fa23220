package io.sparkfuse.spark;

import java.util.Properties;
import java.util.Random;
import org.apache.spark.Success$;
import org.apache.spark.executor.ExecutorMetrics;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.JobSucceeded$;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskLocality;
import scala.collection.Seq;
import scala.collection.Seq$;

/** Creates the events of a large application with Spark's own classes. */
final class SparkEvents {
  private final Random random = new Random(11);
  private final long startMs = System.currentTimeMillis();

  /** Passes the events of a job with one stage and its tasks to {@code out}, one by one. */
  void stage(int stage, int tasks, long firstTask, java.util.function.Consumer<Object> out) {
    StageInfo info = info(stage, tasks);
    @SuppressWarnings("unchecked")
    Seq<StageInfo> stages =
        (Seq<StageInfo>) Seq$.MODULE$.<StageInfo>newBuilder().$plus$eq(info).result();
    out.accept(new SparkListenerJobStart(stage, startMs, stages, properties(stage)));
    out.accept(new SparkListenerStageSubmitted(info, properties(stage)));
    TaskInfo[] running = new TaskInfo[tasks];
    for (int task = 0; task < tasks; task++) {
      running[task] = task(firstTask + task, task);
      out.accept(new SparkListenerTaskStart(stage, 0, running[task]));
    }
    for (int task = 0; task < tasks; task++) {
      running[task].markFinished(org.apache.spark.TaskState.FINISHED(), startMs + task);
      out.accept(
          new SparkListenerTaskEnd(
              stage,
              0,
              "ResultTask",
              Success$.MODULE$,
              running[task],
              new ExecutorMetrics(),
              metrics()));
    }
    out.accept(new SparkListenerStageCompleted(info));
    out.accept(new SparkListenerJobEnd(stage, startMs, JobSucceeded$.MODULE$));
  }

  private static Properties properties(int stage) {
    Properties properties = new Properties();
    properties.setProperty("callSite.short", "collect at job.py:" + stage);
    properties.setProperty("spark.sql.execution.id", Integer.toString(stage));
    return properties;
  }

  private static StageInfo info(int stage, int tasks) {
    Seq<?> none = (Seq<?>) Seq$.MODULE$.empty();
    return new StageInfo(
        stage,
        0,
        "collect at job.py:" + stage,
        tasks,
        cast(none),
        cast(none),
        "details",
        null,
        cast(none),
        scala.Option.empty(),
        0,
        false,
        0);
  }

  @SuppressWarnings("unchecked")
  private static <T> Seq<T> cast(Seq<?> none) {
    return (Seq<T>) none;
  }

  private TaskInfo task(long id, int index) {
    String host = "worker-" + id % 50 + ".cluster.internal";
    return new TaskInfo(
        id, index, 0, index, startMs, "" + id % 50, host, TaskLocality.PROCESS_LOCAL(), false);
  }

  private TaskMetrics metrics() {
    TaskMetrics metrics = new TaskMetrics();
    metrics.setExecutorRunTime(random.nextInt(10_000));
    metrics.setExecutorCpuTime(random.nextInt());
    metrics.setResultSize(random.nextInt(5_000));
    metrics.inputMetrics().incBytesRead(random.nextInt());
    metrics.inputMetrics().incRecordsRead(random.nextInt(1_000_000));
    metrics.shuffleWriteMetrics().incBytesWritten(random.nextInt());
    metrics.shuffleWriteMetrics().incRecordsWritten(random.nextInt(1_000_000));
    return metrics;
  }
}
