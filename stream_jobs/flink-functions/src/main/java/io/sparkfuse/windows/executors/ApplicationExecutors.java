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
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * The executors of one application: which are there, what each told last, and how long it is
 * silent.
 *
 * <p>There is an executor that was added and not removed, and the driver once it samples itself.
 * What executors beyond {@link #MAX_TRACKED} sample is told and not remembered.
 */
public final class ApplicationExecutors {
  public static final int MAX_TRACKED = 10_000;
  static final String DRIVER = "driver";

  private final TreeSet<String> there = new TreeSet<>();
  private final TreeMap<String, ExecutorState> states = new TreeMap<>();
  private final MemoryLimits limits;

  private ApplicationExecutors(MemoryLimits limits) {
    this.limits = limits;
  }

  public static ApplicationExecutors restore(ApplicationState saved) {
    ApplicationExecutors executors = new ApplicationExecutors(MemoryLimits.restore(saved));
    executors.there.addAll(saved.getExecutorsList());
    saved
        .getExecutorStatesList()
        .forEach(state -> executors.states.put(state.getExecutorId(), state));
    return executors;
  }

  public void save(ApplicationState.Builder state) {
    state.addAllExecutors(there).addAllExecutorStates(states.values());
    limits.save(state);
  }

  public int count() {
    return there.size();
  }

  public void see(ApplicationStarted started) {
    limits.see(started);
  }

  public void see(ResourceProfileAdded profile) {
    limits.see(profile);
  }

  public void add(ExecutorAdded added) {
    String id = added.getExecutorId();
    there.add(id);
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
    there.remove(id);
    states.remove(id);
  }

  /** Nobody is asked for samples, so none is silent until it has spoken again. */
  public void unasked() {
    states.replaceAll((id, state) -> state.toBuilder().clearLast().build());
  }

  /**
   * Rows of one window, by executor: one for each sample and, where {@code tellSilent}, one for
   * each executor that is there, sampled before, and is silent now.
   *
   * @param pauses of each executor the sample with the longest pause of the window
   * @param heardMs time in which anything came of the application, this window included
   */
  public List<ExecutorLive> rows(
      List<ExecutorSample> samples,
      List<ExecutorSample> pauses,
      long heardMs,
      boolean tellSilent,
      Long startMs,
      long windowEndMs) {
    Map<String, ExecutorSample> paused = new TreeMap<>();
    pauses.forEach(sample -> paused.put(sample.getExecutorId(), sample));
    Map<String, ExecutorLive.Builder> rows = new TreeMap<>();
    for (ExecutorSample sample : samples) {
      String id = sample.getExecutorId();
      rows.put(id, heard(sample, paused.getOrDefault(id, sample), heardMs));
    }
    if (tellSilent) {
      states.forEach((id, state) -> rows.computeIfAbsent(id, silent -> silent(state, heardMs)));
    }
    List<ExecutorLive> all = new ArrayList<>();
    rows.forEach((id, row) -> all.add(aged(row, id, startMs, windowEndMs)));
    return all;
  }

  private ExecutorLive.Builder heard(ExecutorSample sample, ExecutorSample paused, long heardMs) {
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
      states.put(sample.getExecutorId(), state.setLast(row.build()).setHeardAt(heardMs).build());
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

  /** A pause is no gauge: it was told once and is not told again. */
  private static ExecutorLive.Builder silent(ExecutorState state, long heardMs) {
    if (!state.hasLast()) {
      return null;
    }
    return state.getLast().toBuilder()
        .clearGcPauseMaxMs()
        .setSilentMs(Math.max(0, heardMs - state.getHeardAt()));
  }

  private ExecutorLive aged(ExecutorLive.Builder row, String id, Long startMs, long windowEndMs) {
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

  /** What is remembered of an executor that is there; null of any other and beyond the bound. */
  private ExecutorState.Builder tracked(String id) {
    ExecutorState state = states.get(id);
    if (state != null) {
      return state.toBuilder();
    }
    boolean remember = (there.contains(id) || id.equals(DRIVER)) && states.size() < MAX_TRACKED;
    return remember ? ExecutorState.newBuilder().setExecutorId(id) : null;
  }
}
