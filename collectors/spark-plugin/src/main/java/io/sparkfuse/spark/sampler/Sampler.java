package io.sparkfuse.spark.sampler;

import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.spark.facts.FactSink;
import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.SteadyClock;
import io.sparkfuse.spark.settings.PluginSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.apache.spark.TaskContext;

/**
 * Samples this JVM and its running tasks every few seconds, from one daemon thread of low priority.
 * The driver of a cluster runs no tasks, so the driver's sampler reads only the JVM.
 *
 * <p>Task threads only add themselves to a map and remove themselves.
 */
public final class Sampler implements TaskListener {
  private final ConcurrentHashMap<Thread, RunningTask> running = new ConcurrentHashMap<>();
  private final PluginSettings settings;
  private final String executorId;
  private final Supplier<String> host;
  private final FactSink sink;
  private final FaultCounter faults;
  private final JvmGauges gauges = new JvmGauges();
  private final GcPauses pauses;
  private final SparkMemory memory;
  private final PythonWorkers python = new PythonWorkers();
  private final TaskProgressSampler progressSampler;
  private final Thread thread;
  private volatile boolean stopped;

  public Sampler(
      PluginSettings settings,
      String executorId,
      Supplier<String> host,
      FactSink sink,
      FaultCounter faults) {
    this.settings = settings;
    this.executorId = executorId;
    this.host = host;
    this.sink = sink;
    this.faults = faults;
    this.pauses = new GcPauses(faults);
    this.memory = new SparkMemory(faults);
    this.progressSampler =
        new TaskProgressSampler(
            gauges, python, faults, settings.stackAfterMs, settings.pythonGraceMs);
    this.thread = DaemonThreads.of("sampler", faults, this::run);
    this.thread.setPriority(Thread.MIN_PRIORITY);
  }

  @Override
  public void start() {
    pauses.listen();
    memory.start();
    thread.start();
  }

  @Override
  public void stop() {
    stopped = true;
    pauses.stop();
    memory.stop();
    thread.interrupt();
  }

  /** Adds the task; the task's thread calls this method when the task starts. */
  @Override
  public void taskStarted() {
    TaskContext context = TaskContext.get();
    if (context != null) {
      Thread current = Thread.currentThread();
      running.put(current, new RunningTask(context, current));
    }
  }

  /**
   * Removes the task; the task's thread calls this method when the task ends and Spark has removed
   * its TaskContext.
   */
  @Override
  public void taskEnded() {
    running.remove(Thread.currentThread());
  }

  private void run() {
    // Executors of one application start together, so the first pause is random: otherwise all
    // would sample at the same time.
    pause((long) (Math.random() * settings.sampleIntervalMs));
    while (!stopped && faults.on()) {
      long startMs = SteadyClock.ms();
      try {
        sampleOnce(System.currentTimeMillis(), startMs);
      } catch (Throwable fault) {
        if (!(stopped && fault instanceof InterruptedException)) { // stop() interrupts the thread
          faults.caught(fault);
        }
      }
      pause(jittered(settings.sampleIntervalMs) - (SteadyClock.ms() - startMs));
    }
  }

  /** Varies an interval randomly by 10 %, so that executors do not sample at the same time. */
  private static long jittered(long ms) {
    return (long) (ms * (0.9 + 0.2 * Math.random()));
  }

  private void pause(long ms) {
    try {
      Thread.sleep(Math.max(10, ms));
    } catch (InterruptedException stop) { // run() checks whether it must end
    }
  }

  /**
   * Takes one sample. {@code timeMs} is the system time, for the timestamp; {@code nowMs} is the
   * monotonic time, for durations.
   */
  private void sampleOnce(long timeMs, long nowMs) throws InterruptedException {
    if (!sink.ready()) {
      return;
    }
    running.values().removeIf(task -> task.context.isCompleted() || !task.thread.isAlive());
    String hostNow = host.get();
    ExecutorSample.Builder sample = gauges.sample(nowMs);
    List<TaskProgress.Builder> tasks =
        progressSampler.sample(running.values(), nowMs, sample.getIntervalMs());
    sample
        .setExecutorId(executorId)
        .setHost(hostNow)
        .setRunningTasks(tasks.size())
        .setPythonRssBytes(python.residentBytes())
        .setPythonWorkers(python.count())
        .setPythonCpuNs(python.cpuNs());
    pauses.moveTo(sample);
    memory.copyTo(sample);
    List<Fact.Builder> facts = new ArrayList<>(tasks.size() + 1);
    facts.add(Fact.newBuilder().setEventTimeMs(timeMs).setExecutorSample(sample));
    for (TaskProgress.Builder task : tasks) {
      task.setExecutorId(executorId).setHost(hostNow);
      facts.add(Fact.newBuilder().setEventTimeMs(timeMs).setTaskProgress(task));
    }
    sink.send(facts);
  }
}
