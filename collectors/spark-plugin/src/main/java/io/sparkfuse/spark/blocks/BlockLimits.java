package io.sparkfuse.spark.blocks;

import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.spark.counters.StageRegistry;
import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.safety.SteadyClock;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkFirehoseListener;

/**
 * Enforces the limits of blocks in this driver. It cancels only jobs that carry the tag of a block
 * that has exceeded a limit.
 */
public final class BlockLimits {
  private static final long TICK_MS = 200;

  /**
   * Time in ms between the cancellation of a job and the interruption of its tasks that still run.
   */
  private static final long CANCEL_MS = 1_000;

  private final SparkContext context;
  private final StageRegistry registry;
  private final BooleanSupplier held;
  private final long safePointMs;
  private final int taskCores;
  private final FaultCounter faults;
  private final Blocks blocks;
  private final SparkFirehoseListener listener;
  private final Map<Integer, Long> cancelled = new HashMap<>();
  private final TreeMap<Long, Long> tasks = new TreeMap<>();
  private volatile boolean stopped;

  /**
   * Creates the limits of one application; {@code held} is called before each evaluation and
   * returns whether a hold prevents stops.
   */
  public BlockLimits(
      SparkContext context,
      StageRegistry registry,
      BooleanSupplier held,
      LongSupplier droppedEvents,
      long safePointMs,
      FaultCounter faults) {
    this.context = context;
    this.registry = registry;
    this.held = held;
    this.safePointMs = safePointMs;
    this.taskCores = context.getConf().getInt("spark.task.cpus", 1);
    this.faults = faults;
    this.blocks = new Blocks(SteadyClock::ms, droppedEvents);
    this.listener = new BlockListener(blocks, faults);
  }

  /** Returns the listener that counts what blocks use. */
  public SparkFirehoseListener listener() {
    return listener;
  }

  /** Starts the thread that cancels jobs; the thread sleeps while there are no blocks. */
  public void start() {
    DaemonThreads.of("blocks", faults, this::run).start();
  }

  /** Ends the thread. */
  public void stop() {
    stopped = true;
  }

  /**
   * Begins a block on the calling thread; jobs that the thread starts from now on carry its tag.
   */
  public void begin(String text) {
    BlockTag tag = BlockTag.parse(text);
    if (tag == null) {
      throw new IllegalArgumentException("not the tag of a block: " + text);
    }
    blocks.begin(tag);
    enter(text);
  }

  /** Ends a block on the calling thread, and returns its report as JSON. */
  public String end(String tag) {
    leave(tag);
    return blocks.end(tag);
  }

  /** Adds the tag to the jobs that the calling thread starts from now on. */
  public void enter(String tag) {
    String outer = context.getLocalProperty(BlockTag.PROPERTY);
    context.setLocalProperty(BlockTag.PROPERTY, outer == null ? tag : outer + "," + tag);
    jobTag("addJobTag", tag);
  }

  /** Removes the tag from the jobs that the calling thread starts from now on. */
  public void leave(String tag) {
    String all = context.getLocalProperty(BlockTag.PROPERTY);
    List<String> left =
        new ArrayList<>(Arrays.asList(all == null ? new String[0] : all.split(",")));
    left.remove(tag);
    context.setLocalProperty(BlockTag.PROPERTY, left.isEmpty() ? null : String.join(",", left));
    jobTag("removeJobTag", tag);
  }

  /** Shows the block as a job tag in Spark's UI, if this version of Spark has job tags. */
  private void jobTag(String method, String tag) {
    try {
      SparkContext.class.getMethod(method, String.class).invoke(context, tag);
    } catch (NoSuchMethodException older) { // Spark before 3.5 has no job tags
      return;
    } catch (ReflectiveOperationException fault) {
      faults.caught(fault);
    }
  }

  /** Begins or ends a safe point of a block. */
  public void safePoint(String tag, boolean begins) {
    blocks.safePoint(tag, begins ? 1 : -1);
  }

  /** Returns what a block has used and whether it was stopped, as JSON. */
  public String report(String tag) {
    return blocks.report(tag);
  }

  /** Returns the tags of the blocks to which any of the given running jobs belong. */
  public Set<String> of(Set<Integer> jobs) {
    return blocks.of(jobs);
  }

  /**
   * Waits while a block of the jobs is in a safe point, for at most the configured time. Returns
   * the length of the wait in ms.
   */
  public long awaitSafePoint(Set<Integer> jobs) throws InterruptedException {
    Set<String> keys = blocks.of(jobs);
    if (!blocks.inSafePoint(keys)) {
      return 0; // 0 means no wait, so a wait returns at least 1 ms
    }
    long startMs = SteadyClock.ms();
    while (blocks.inSafePoint(keys) && SteadyClock.ms() - startMs < safePointMs) {
      blocks.awaitChange(TICK_MS);
    }
    return Math.max(1, SteadyClock.ms() - startMs);
  }

  /** Counts the progress of a running task. */
  public void taskProgressed(TaskProgress task) {
    blocks.taskProgressed(
        task.getStageId(),
        task.getStageAttempt(),
        task.getTaskId(),
        task.getDiskSpilledBytes(),
        task.getOutputRecords());
  }

  private void run() {
    while (!stopped && !context.isStopped()) {
      try {
        blocks.awaitChange(blocks.any() || !tasks.isEmpty() ? TICK_MS : 5_000);
        enforce();
      } catch (InterruptedException ended) {
        return;
      } catch (Throwable fault) { // the job continues without the limits of its blocks
        faults.caught(fault);
      }
    }
  }

  private void enforce() {
    List<String> warnings = new ArrayList<>();
    Map<Integer, String> cancel =
        blocks.decide(held.getAsBoolean(), safePointMs, taskCores, warnings);
    warnings.forEach(PluginLog::warn);
    long nowMs = SteadyClock.ms();
    cancelled.keySet().retainAll(cancel.keySet());
    Set<Integer> added = new HashSet<>(cancel.keySet());
    added.removeAll(cancelled.keySet());
    if (!added.isEmpty()) {
      // The tasks are read before the jobs end, because the registry forgets which tasks an ended
      // job had.
      registry.runningTasksOnlyOf(cancel.keySet()).forEach(task -> tasks.putIfAbsent(task, nowMs));
    }
    for (int job : added) {
      cancelled.put(job, nowMs);
      context.cancelJob(job, cancel.get(job));
    }
    interrupt(nowMs);
  }

  /** Interrupts tasks of cancelled jobs that are still running; Spark only marks such tasks. */
  private void interrupt(long nowMs) {
    tasks.keySet().retainAll(registry.runningTasks());
    for (Map.Entry<Long, Long> each : new ArrayList<>(tasks.entrySet())) {
      if (nowMs - each.getValue() > CANCEL_MS) {
        context.killTaskAttempt(each.getKey(), true, "the limit of its block is exceeded");
        tasks.remove(each.getKey());
      }
    }
  }
}
