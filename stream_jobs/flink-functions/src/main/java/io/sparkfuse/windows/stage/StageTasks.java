package io.sparkfuse.windows.stage;

import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.windows.wire.EndedTasks;
import io.sparkfuse.windows.wire.ExecutorHost;
import io.sparkfuse.windows.wire.RunningTask;
import io.sparkfuse.windows.wire.StageState;
import io.sparkfuse.windows.wire.TaskChanges;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeMap;

/**
 * The task attempts of one stage that run: bounded, and right whatever overtakes what.
 *
 * <p>Starts travel in another lane than failures, and progress comes from another machine, so an
 * attempt's end may come before its start or its last progress; ended attempts are remembered for a
 * while so that nothing brings them back.
 */
final class StageTasks {
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
  private final ArrayDeque<EndedTasks> ended = new ArrayDeque<>();
  private final TreeMap<String, String> hosts = new TreeMap<>();
  private long untracked;

  static StageTasks restore(StageState saved) {
    StageTasks tasks = new StageTasks();
    saved.getRunningList().forEach(task -> tasks.running.put(task.getTaskId(), task));
    tasks.ended.addAll(saved.getEndedList());
    tasks.untracked = saved.getUntracked();
    saved.getHostsList().forEach(one -> tasks.hosts.put(one.getExecutorId(), one.getHost()));
    return tasks;
  }

  void save(StageState.Builder state) {
    state.addAllRunning(running.values()).addAllEnded(ended).setUntracked(untracked);
    hosts.keySet().retainAll(executors());
    hosts.forEach(
        (executor, host) ->
            state.addHosts(ExecutorHost.newBuilder().setExecutorId(executor).setHost(host)));
  }

  void fold(TaskChanges news, long windowEndMs) {
    end(news, windowEndMs);
    for (int place = 0; place < news.getStartedIdsCount(); place++) {
      start(news.getStartedIds(place), news.getLaunchedMs(place), windowEndMs);
    }
    news.getProgressList().forEach(told -> progress(told, windowEndMs));
    long counted = news.getUntrackedStarted() - news.getUntrackedEnded();
    untracked = Math.max(0, untracked + counted);
  }

  /** Drops attempts that the end of their stage should have ended and that are silent since. */
  void forgetSilent(long windowEndMs) {
    running.values().removeIf(task -> task.getSeenMs() + SILENT_AFTER_STAGE_MS <= windowEndMs);
    untracked = 0;
  }

  Collection<RunningTask> running() {
    return running.values();
  }

  /** Host of an executor that runs tasks; null when none of them told. */
  String hostOf(String executorId) {
    return hosts.get(executorId);
  }

  boolean hasEnded(long task) {
    // Ids rise with time, so nearly every window but one is told by its ends.
    for (EndedTasks window : ended) {
      int count = window.getIdsCount();
      if (count > 0 && window.getIds(0) <= task && task <= window.getIds(count - 1)) {
        if (Collections.binarySearch(window.getIdsList(), task) >= 0) {
          return true;
        }
      }
    }
    return false;
  }

  long untracked() {
    return untracked;
  }

  private void start(long task, long launchedMs, long windowEndMs) {
    if (hasEnded(task)) {
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
    if (hasEnded(task)) {
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
    if (told.hasExecutorId() && told.hasHost()) {
      hosts.put(told.getExecutorId(), told.getHost());
    }
    TaskProgress counters =
        told.toBuilder().clearStack().clearPythonWorker().clearHost().clearActivity().build();
    running.put(task, next.setTaskId(task).setProgress(counters).setSeenMs(windowEndMs).build());
  }

  private void end(TaskChanges news, long windowEndMs) {
    if (news.getEndedIdsCount() > 0) {
      for (long task : news.getEndedIdsList()) {
        // What was not tracked is one of those that the bound left out, unless its start comes only
        // now.
        if (running.remove(task) == null && untracked > 0 && !hasEnded(task)) {
          untracked--;
        }
      }
      ended.add(
          EndedTasks.newBuilder().setAtMs(windowEndMs).addAllIds(news.getEndedIdsList()).build());
    }
    int remembered = ended.stream().mapToInt(EndedTasks::getIdsCount).sum();
    while (!ended.isEmpty()
        && (ended.getFirst().getAtMs() + REMEMBER_ENDED_MS <= windowEndMs
            || remembered > MAX_ENDED)) {
      remembered -= ended.removeFirst().getIdsCount();
    }
  }

  private Set<String> executors() {
    Set<String> executors = new HashSet<>();
    running.values().forEach(task -> executors.add(task.getProgress().getExecutorId()));
    return executors;
  }
}
