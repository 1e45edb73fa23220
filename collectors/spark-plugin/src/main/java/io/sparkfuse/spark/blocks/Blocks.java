package io.sparkfuse.spark.blocks;

import io.sparkfuse.spark.json.JsonWriter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongSupplier;

/**
 * The blocks of this application by tag. Thread-safe; each call is short.
 *
 * <p>A job belongs to a block if the job carries the block's tag, no matter when the job starts. If
 * there are too many blocks, the oldest are forgotten, and their jobs are no longer stopped.
 */
final class Blocks {
  static final int MAX_BLOCKS = 1_000;
  static final int MAX_STAGES = 10_000;

  private final LongSupplier clockMs;
  private final LongSupplier droppedEvents;
  private final List<BlockGates.Gate> gates;
  private final LinkedHashMap<String, Block> blocks = new LinkedHashMap<>();
  private final LinkedHashMap<Long, List<String>> stages = new LinkedHashMap<>();
  private final Map<Integer, List<String>> jobs = new HashMap<>();

  Blocks(LongSupplier clockMs, LongSupplier droppedEvents) {
    this(clockMs, droppedEvents, BlockGates.ALL);
  }

  Blocks(LongSupplier clockMs, LongSupplier droppedEvents, List<BlockGates.Gate> gates) {
    this.clockMs = clockMs;
    this.droppedEvents = droppedEvents;
    this.gates = gates;
  }

  synchronized void begin(BlockTag tag) {
    blocks.computeIfAbsent(tag.key, key -> new Block(tag, clockMs.getAsLong()));
    if (blocks.size() > MAX_BLOCKS) {
      Iterator<String> eldest = blocks.keySet().iterator();
      eldest.next();
      eldest.remove();
    }
    notifyAll();
  }

  /** Forgets a block, and returns its report. */
  synchronized String end(String key) {
    String report = report(key);
    blocks.remove(key);
    return report;
  }

  synchronized String report(String key) {
    Block block = blocks.get(key);
    return JsonWriter.write(block == null ? Collections.emptyMap() : block.report());
  }

  synchronized void safePoint(String key, int change) {
    Block block = blocks.get(key);
    if (block != null) {
      block.safePoints = Math.max(0, block.safePoints + change);
      notifyAll();
    }
  }

  /** Returns the keys of the blocks to which any of the given jobs belong. */
  synchronized Set<String> of(Set<Integer> some) {
    Set<String> keys = new TreeSet<>();
    some.forEach(job -> keys.addAll(jobs.getOrDefault(job, Collections.emptyList())));
    return keys;
  }

  /** Returns whether the code of one of the blocks is in a safe point. */
  synchronized boolean inSafePoint(Set<String> keys) {
    return keys.stream().map(blocks::get).anyMatch(block -> block != null && block.safePoints > 0);
  }

  synchronized void jobStarted(int jobId, List<BlockTag> tags) {
    if (tags.isEmpty()) {
      return;
    }
    tags.forEach(this::begin);
    jobs.put(jobId, keys(tags));
    present(keys(tags)).forEach(block -> block.jobs.add(jobId));
    notifyAll();
  }

  synchronized void jobEnded(int jobId) {
    List<String> keys = jobs.remove(jobId);
    if (keys != null) {
      present(keys).forEach(block -> block.jobs.remove(jobId));
    }
  }

  synchronized void stageStarted(int stageId, int attempt, List<BlockTag> tags) {
    if (!tags.isEmpty()) {
      stages.put(stage(stageId, attempt), keys(tags));
      if (stages.size() > MAX_STAGES) {
        Iterator<Long> eldest = stages.keySet().iterator();
        eldest.next();
        eldest.remove();
      }
    }
  }

  synchronized void taskStarted(int stageId, int attempt, long taskId) {
    long nowMs = clockMs.getAsLong();
    ofStage(stageId, attempt).forEach(block -> block.taskStarted(taskId, nowMs));
  }

  synchronized void taskProgressed(int stageId, int attempt, long taskId, long spilled, long rows) {
    ofStage(stageId, attempt).forEach(block -> block.taskProgressed(taskId, spilled, rows));
  }

  synchronized void taskEnded(
      int stageId, int attempt, long taskId, long runMs, long spilled, long rows) {
    ofStage(stageId, attempt).forEach(block -> block.taskEnded(taskId, runMs, spilled, rows));
  }

  /** Returns whether there are blocks; without blocks, nothing needs to be counted. */
  synchronized boolean any() {
    return !blocks.isEmpty();
  }

  /** Waits for a change of the blocks or their jobs, for at most {@code timeoutMs}. */
  synchronized void awaitChange(long timeoutMs) throws InterruptedException {
    wait(timeoutMs);
  }

  /**
   * Evaluates all limits. Returns the running jobs to cancel, each with the reason, and adds
   * messages for the owner to {@code warnings}.
   *
   * @param held whether a hold of the owner prevents every stop
   * @param safePointMs how long a stop may wait while the block is in a safe point
   */
  synchronized Map<Integer, String> decide(
      boolean held, long safePointMs, int taskCores, List<String> warnings) {
    Map<Integer, String> cancel = new TreeMap<>();
    long nowMs = clockMs.getAsLong();
    boolean dropped = droppedEvents.getAsLong() > 0;
    for (Block block : blocks.values()) {
      for (Limit limit : block.limitsToCheck()) {
        BlockGates.Case each = block.at(limit, nowMs, taskCores);
        each.droppedEvents = dropped;
        each.held = held;
        each.safePointMs = safePointMs;
        String gate = BlockGates.refusal(gates, each);
        if (BlockGates.LIMIT.equals(gate) || BlockGates.COMPLETE.equals(gate)) {
          continue;
        }
        block.exceeded(limit, each.used, nowMs);
        record(block, gate, each.overMs, warnings);
        jobsToCancel(each).forEach(job -> cancel.putIfAbsent(job, block.reason));
        break;
      }
    }
    return cancel;
  }

  /** Records that a block is stopped, or which gate prevents the stop. */
  private static void record(Block block, String gate, long overMs, List<String> warnings) {
    if (gate == null && block.reason == null) {
      block.reason = block.text("stopped");
      warnings.add(block.reason);
    } else if (BlockGates.HOLD.equals(gate) && !block.held && block.reason == null) {
      block.held = true;
      warnings.add(block.text("would stop, but a hold prevents it,"));
    } else if (BlockGates.SAFE_POINT.equals(gate)) {
      block.waitedMs = Math.max(1, overMs);
    }
  }

  private List<Integer> jobsToCancel(BlockGates.Case each) {
    List<Integer> found = new ArrayList<>();
    for (Map.Entry<Integer, List<String>> job : jobs.entrySet()) {
      each.tags = job.getValue();
      if (BlockGates.refusal(gates, each) == null) {
        found.add(job.getKey());
      }
    }
    return found;
  }

  private List<Block> ofStage(int stageId, int attempt) {
    List<String> keys = stages.get(stage(stageId, attempt));
    return keys == null ? Collections.emptyList() : present(keys);
  }

  private List<Block> present(List<String> keys) {
    List<Block> found = new ArrayList<>();
    for (String key : keys) {
      if (blocks.containsKey(key)) {
        found.add(blocks.get(key));
      }
    }
    return found;
  }

  private static List<String> keys(List<BlockTag> tags) {
    List<String> keys = new ArrayList<>();
    tags.forEach(tag -> keys.add(tag.key));
    return keys;
  }

  private static long stage(int stageId, int attempt) {
    return ((long) stageId << 32) | attempt;
  }
}
