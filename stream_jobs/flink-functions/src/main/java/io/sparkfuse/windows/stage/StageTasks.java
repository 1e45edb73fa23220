package io.sparkfuse.windows.stage;

import io.sparkfuse.contracts.Limits;
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
 * The running task attempts of one stage; correct in any order of arrival, and limited in number.
 *
 * <p>Starts and ends have different lanes, and progress is sent by executors. The end of an attempt
 * can therefore arrive before its start or its last progress report. Ended attempts are stored for
 * a while, so that a late fact does not make them count as running again.
 */
final class StageTasks {
  /** Maximum number of attempts that are stored individually; further attempts are only counted. */
  static final int MAX_TRACKED = 20_000;

  static final int MAX_ENDED = 50_000;

  /** How long an ended attempt is kept: longer than a collector can delay a fact. [ms] */
  static final long REMEMBER_ENDED_MS = 120_000;

  /** After the end of its stage, an attempt that is silent for this long counts as ended. [ms] */
  static final long SILENT_AFTER_STAGE_MS = 60_000;

  /** The activity of a task whose counters change. */
  static final String MOVING = "moving";

  /** How long a task that makes progress again has a row in each window. [ms] */
  static final long EACH_WINDOW_MS = 60_000;

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

  void fold(TaskChanges changes, long windowEndMs) {
    end(changes, windowEndMs);
    for (int place = 0; place < changes.getStartedIdsCount(); place++) {
      start(changes.getStartedIds(place), changes.getLaunchedMs(place), windowEndMs);
    }
    changes.getProgressList().forEach(progress -> addProgress(progress, windowEndMs));
    long counted = changes.getUntrackedStarted() - changes.getUntrackedEnded();
    untracked = Math.max(0, untracked + counted);
  }

  /**
   * Whether a running task has a row in this window; remembers the row. A task that makes progress
   * has its first row at once, and then one row in {@link Limits#MOVING_TASK_ROW_MS}. A task that
   * makes no progress has a row in each window, and also for {@link #EACH_WINDOW_MS} afterwards, so
   * that findings about it resolve in time.
   */
  boolean addsRow(TaskProgress progress, long windowEndMs) {
    RunningTask task = running.get(progress.getTaskId());
    if (task == null) {
      return true;
    }
    boolean moving = MOVING.equals(progress.getActivity());
    if (moving && windowEndMs < task.getNextRowMs()) {
      return windowEndMs < task.getEachWindowUntilMs();
    }
    RunningTask.Builder after = task.toBuilder();
    if (moving) {
      after.setNextRowMs(windowEndMs + Limits.MOVING_TASK_ROW_MS);
    } else {
      after.setEachWindowUntilMs(windowEndMs + EACH_WINDOW_MS);
    }
    running.put(progress.getTaskId(), after.build());
    return true;
  }

  /** Drops attempts that have been silent since the end of their stage. */
  void forgetSilent(long windowEndMs) {
    running.values().removeIf(task -> task.getSeenMs() + SILENT_AFTER_STAGE_MS <= windowEndMs);
    untracked = 0;
  }

  Collection<RunningTask> running() {
    return running.values();
  }

  /** Host of an executor that runs tasks; null if no progress report contained it. */
  String hostOf(String executorId) {
    return hosts.get(executorId);
  }

  boolean hasEnded(long task) {
    // Task ids rise with time, so a comparison with the first and last id of a window excludes most
    // windows.
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
    RunningTask.Builder builder = known == null ? RunningTask.newBuilder() : known.toBuilder();
    running.put(
        task, builder.setTaskId(task).setLaunchedMs(launchedMs).setSeenMs(windowEndMs).build());
  }

  private void addProgress(TaskProgress next, long windowEndMs) {
    long task = next.getTaskId();
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
    if (known != null && known.getProgress().getAgeMs() > next.getAgeMs()) {
      return;
    }
    RunningTask.Builder builder = known == null ? RunningTask.newBuilder() : known.toBuilder();
    if (next.hasExecutorId() && next.hasHost()) {
      hosts.put(next.getExecutorId(), next.getHost());
    }
    TaskProgress counters =
        next.toBuilder().clearStack().clearPythonWorker().clearHost().clearActivity().build();
    running.put(task, builder.setTaskId(task).setProgress(counters).setSeenMs(windowEndMs).build());
  }

  private void end(TaskChanges changes, long windowEndMs) {
    if (changes.getEndedIdsCount() > 0) {
      for (long task : changes.getEndedIdsList()) {
        // An unknown attempt is one of those that were only counted, unless its start is in this
        // window.
        if (running.remove(task) == null && untracked > 0 && !hasEnded(task)) {
          untracked--;
        }
      }
      ended.add(
          EndedTasks.newBuilder()
              .setAtMs(windowEndMs)
              .addAllIds(changes.getEndedIdsList())
              .build());
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
