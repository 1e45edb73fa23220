package io.sparkfuse.windows;

import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.windows.wire.RunningTask;
import io.sparkfuse.windows.wire.StageState;
import io.sparkfuse.windows.wire.TaskNews;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;

/**
 * The task attempts of one stage that run: bounded, and right whatever overtakes what.
 *
 * <p>Starts travel in another lane than failures, and progress comes from another machine, so an
 * attempt's end may come before its start or its last progress; ended attempts are remembered for a
 * while so that nothing brings them back.
 */
final class TasksOfStage {
  /** Attempts that are tracked one by one; the rest is only counted. */
  static final int MAX_TRACKED = 20_000;

  static final int MAX_ENDED = 50_000;

  /** Longer than a fact can be on its way while its collector still keeps it. [ms] */
  static final long REMEMBER_ENDED_MS = 120_000;

  /**
   * After its stage's end an attempt that stays silent this long is gone, though nobody told. [ms]
   */
  static final long SILENT_AFTER_STAGE_MS = 60_000;

  private final TreeMap<Long, RunningTask> running = new TreeMap<>();
  private final TreeMap<Long, Long> endedAt = new TreeMap<>();
  private long untracked;

  static TasksOfStage restore(StageState saved) {
    TasksOfStage tasks = new TasksOfStage();
    saved.getRunningList().forEach(task -> tasks.running.put(task.getTaskId(), task));
    for (int place = 0; place < saved.getEndedIdsCount(); place++) {
      tasks.endedAt.put(saved.getEndedIds(place), saved.getEndedAtMs(place));
    }
    tasks.untracked = saved.getUntracked();
    return tasks;
  }

  void save(StageState.Builder state) {
    state
        .addAllRunning(running.values())
        .addAllEndedIds(endedAt.keySet())
        .addAllEndedAtMs(endedAt.values())
        .setUntracked(untracked);
  }

  void fold(TaskNews news, long windowEndMs) {
    for (int place = 0; place < news.getStartedIdsCount(); place++) {
      start(news.getStartedIds(place), news.getLaunchedMs(place), windowEndMs);
    }
    news.getProgressList().forEach(told -> progress(told, windowEndMs));
    news.getEndedIdsList().forEach(task -> end(task, windowEndMs));
    long counted = news.getUntrackedStarted() - news.getUntrackedEnded();
    untracked = Math.max(0, untracked + counted);
    forgetEnded(windowEndMs);
  }

  /** Drops attempts that the end of their stage should have ended and that are silent since. */
  void forgetSilent(long windowEndMs) {
    running.values().removeIf(task -> task.getSeenMs() + SILENT_AFTER_STAGE_MS <= windowEndMs);
    untracked = 0;
  }

  Collection<RunningTask> running() {
    return running.values();
  }

  boolean isRunning(long task) {
    return running.containsKey(task);
  }

  boolean hasEnded(long task) {
    return endedAt.containsKey(task);
  }

  long untracked() {
    return untracked;
  }

  private void start(long task, long launchedMs, long windowEndMs) {
    if (endedAt.containsKey(task)) {
      return;
    }
    RunningTask known = running.get(task);
    if (known == null && running.size() >= MAX_TRACKED) {
      untracked++;
      return;
    }
    RunningTask.Builder next = known == null ? RunningTask.newBuilder() : known.toBuilder();
    running.put(
        task, next.setTaskId(task).setLaunchedMs(launchedMs).setSeenMs(windowEndMs).build());
  }

  private void progress(TaskProgress told, long windowEndMs) {
    long task = told.getTaskId();
    if (endedAt.containsKey(task)) {
      return;
    }
    RunningTask known = running.get(task);
    if (known == null && running.size() >= MAX_TRACKED) {
      return;
    }
    if (known == null && untracked > 0) {
      untracked--;
    }
    if (known != null && known.getProgress().getAgeMs() > told.getAgeMs()) {
      return;
    }
    RunningTask.Builder next = known == null ? RunningTask.newBuilder() : known.toBuilder();
    TaskProgress counters =
        told.toBuilder().clearStack().clearHost().clearExecutorId().clearActivity().build();
    running.put(task, next.setTaskId(task).setProgress(counters).setSeenMs(windowEndMs).build());
  }

  private void end(long task, long windowEndMs) {
    boolean tracked = running.remove(task) != null;
    boolean first = endedAt.put(task, windowEndMs) == null;
    if (!tracked && first && untracked > 0) {
      untracked--;
    }
  }

  private void forgetEnded(long windowEndMs) {
    endedAt.values().removeIf(at -> at + REMEMBER_ENDED_MS <= windowEndMs);
    while (endedAt.size() > MAX_ENDED) {
      Map.Entry<Long, Long> lowest = endedAt.firstEntry();
      endedAt.remove(lowest.getKey());
    }
  }
}
