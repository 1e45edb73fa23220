package io.sparkfuse.windows.executors;

import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.ExecutorAdded;
import io.sparkfuse.contracts.ExecutorLive;
import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.GcPause;
import io.sparkfuse.contracts.ResourceProfileAdded;
import io.sparkfuse.windows.rows.CommonFields;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.ExecutorState;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * The executors of one application: which are present, the last sample of each, and for how long
 * each has been silent.
 *
 * <p>An executor is present from the time it is added until it is removed; the driver is present
 * from its first sample. If the removal was lost, an executor is present until it has been silent
 * for {@link #LOST_MS}. Samples of executors beyond {@link #MAX_TRACKED} are emitted but not
 * stored, and executors beyond {@link #MAX_PRESENT} are not counted.
 */
public final class ApplicationExecutors {
  public static final int MAX_TRACKED = 10_000;
  public static final int MAX_PRESENT = 20_000;

  /** An executor that sampled before and is silent for this long is gone. [ms] */
  public static final long LOST_MS = 86_400_000;

  static final String DRIVER = "driver";

  private final TreeSet<String> present = new TreeSet<>();
  private final TreeMap<String, ExecutorState> states = new TreeMap<>();
  private final MemoryLimits limits;

  private ApplicationExecutors(MemoryLimits limits) {
    this.limits = limits;
  }

  public static ApplicationExecutors restore(ApplicationState saved) {
    ApplicationExecutors executors = new ApplicationExecutors(MemoryLimits.restore(saved));
    executors.present.addAll(saved.getExecutorsList());
    saved
        .getExecutorStatesList()
        .forEach(state -> executors.states.put(state.getExecutorId(), state));
    return executors;
  }

  public void save(ApplicationState.Builder state) {
    state.addAllExecutors(present).addAllExecutorStates(states.values());
    limits.save(state);
  }

  public int count() {
    return present.size();
  }

  public void add(ApplicationStarted started) {
    limits.add(started);
  }

  public void add(ResourceProfileAdded profile) {
    limits.add(profile);
  }

  public void add(ExecutorAdded added) {
    String id = added.getExecutorId();
    if (present.size() < MAX_PRESENT) {
      present.add(id);
    }
    ExecutorState.Builder state = tracked(id);
    if (state != null) {
      if (added.hasAddedMs()) {
        state.setAddedMs(added.getAddedMs());
      }
      if (added.hasResourceProfileId()) {
        state.setResourceProfileId(added.getResourceProfileId());
      }
      states.put(id, state.build());
    }
  }

  public void remove(String id) {
    present.remove(id);
    states.remove(id);
  }

  /**
   * Records that the collector is off. Executors then send no samples, so none of them counts as
   * silent until its next sample.
   */
  public void collectorOff() {
    states.replaceAll((id, state) -> state.toBuilder().clearLast().build());
  }

  /**
   * Returns the rows of one window, by executor: one for each sample and, if {@code includeSilent},
   * one for each present executor that sampled before but not in this window.
   *
   * @param pauses for each executor, the sample with the longest GC pause of the window
   * @param activeMs total time of the windows in which any fact of the application arrived,
   *     including this window
   */
  public List<ExecutorLive> rows(
      List<ExecutorSample> samples,
      List<ExecutorSample> pauses,
      long activeMs,
      boolean includeSilent,
      Long startMs,
      long windowEndMs) {
    Map<String, ExecutorSample> paused = new TreeMap<>();
    pauses.forEach(sample -> paused.put(sample.getExecutorId(), sample));
    Map<String, ExecutorLive.Builder> rows = new TreeMap<>();
    for (ExecutorSample sample : samples) {
      String id = sample.getExecutorId();
      rows.put(id, fromSample(sample, paused.getOrDefault(id, sample), activeMs));
    }
    if (includeSilent) {
      removeLost(activeMs);
      states.forEach((id, state) -> rows.computeIfAbsent(id, silent -> silent(state, activeMs)));
    }
    List<ExecutorLive> all = new ArrayList<>();
    rows.forEach((id, row) -> all.add(withAge(row, id, startMs, windowEndMs)));
    return all;
  }

  private void removeLost(long activeMs) {
    Iterator<ExecutorState> all = states.values().iterator();
    while (all.hasNext()) {
      ExecutorState state = all.next();
      if (state.hasLast() && activeMs - state.getActiveAt() >= LOST_MS) {
        present.remove(state.getExecutorId());
        all.remove();
      }
    }
  }

  private ExecutorLive.Builder fromSample(
      ExecutorSample sample, ExecutorSample paused, long activeMs) {
    ExecutorState.Builder state = tracked(sample.getExecutorId());
    ExecutorLive before = state == null ? ExecutorLive.getDefaultInstance() : state.getLast();
    ExecutorLive.Builder row = gauges(sample);
    if (paused.getGcPauseMaxMs() > row.getGcPauseMaxMs()) {
      row.setGcPauseMaxMs(paused.getGcPauseMaxMs());
    }
    Long after = heapAfter(sample, paused);
    if (after != null) {
      row.setHeapAfterGcBytes(after);
    } else if (before.hasHeapAfterGcBytes()) {
      row.setHeapAfterGcBytes(before.getHeapAfterGcBytes());
    }
    if (state != null) {
      states.put(sample.getExecutorId(), state.setLast(row.build()).setActiveAt(activeMs).build());
    }
    return row.setSilentMs(0);
  }

  private static ExecutorLive.Builder gauges(ExecutorSample sample) {
    ExecutorLive.Builder row = ExecutorLive.newBuilder();
    CommonFields.copy(sample, row);
    if (sample.hasGcDeltaMs() && sample.getIntervalMs() > 0) {
      row.setGcShare((double) sample.getGcDeltaMs() / sample.getIntervalMs());
    }
    if (sample.hasRssBytes()) {
      row.setProcessRssBytes(sample.getRssBytes() + sample.getPythonRssBytes());
    }
    return row;
  }

  private static Long heapAfter(ExecutorSample sample, ExecutorSample paused) {
    return Stream.of(sample, paused)
        .flatMap(each -> each.getGcPausesList().stream())
        .filter(GcPause::hasHeapAfterBytes)
        .max(
            Comparator.comparingLong(GcPause::getStartedMs)
                .thenComparingLong(GcPause::getHeapAfterBytes))
        .map(GcPause::getHeapAfterBytes)
        .orElse(null);
  }

  /**
   * Returns a row for a silent executor, with the gauges of its last sample. A GC pause is an
   * event, so the row does not repeat it.
   */
  private static ExecutorLive.Builder silent(ExecutorState state, long activeMs) {
    if (!state.hasLast()) {
      return null;
    }
    return state.getLast().toBuilder()
        .clearGcPauseMaxMs()
        .setSilentMs(Math.max(0, activeMs - state.getActiveAt()));
  }

  private ExecutorLive withAge(
      ExecutorLive.Builder row, String id, Long startMs, long windowEndMs) {
    ExecutorState state = states.get(id);
    Long joinedMs = state != null && state.hasAddedMs() ? (Long) state.getAddedMs() : null;
    if (joinedMs == null && id.equals(DRIVER)) {
      joinedMs = startMs;
    }
    if (joinedMs != null) {
      row.setAgeMs(Math.max(0, windowEndMs - joinedMs));
    }
    Long limit =
        state == null || id.equals(DRIVER) ? null : limits.bytes(state.getResourceProfileId());
    if (limit != null) {
      row.setMemoryLimitBytes(limit);
    }
    return row.build();
  }

  /**
   * The stored state of an executor, or a new one if the executor is present or the driver. Null
   * for any other executor, or if {@link #MAX_TRACKED} states are already stored.
   */
  private ExecutorState.Builder tracked(String id) {
    ExecutorState state = states.get(id);
    if (state != null) {
      return state.toBuilder();
    }
    boolean remember = (present.contains(id) || id.equals(DRIVER)) && states.size() < MAX_TRACKED;
    return remember ? ExecutorState.newBuilder().setExecutorId(id) : null;
  }
}
