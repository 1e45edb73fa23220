package io.sparkfuse.windows.application;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.StreamingLive;
import io.sparkfuse.contracts.StreamingProgress;
import io.sparkfuse.contracts.StreamingStarted;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.StreamState;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The streaming queries of one application, by run id, in the order in which they became known. A
 * run that has ended is kept, so that its late batches are recognized. There are at most {@link
 * #MAX_STREAMS} runs.
 */
final class ApplicationStreams {
  static final int MAX_STREAMS = 256;

  private final Map<String, StreamingRun> runs = new LinkedHashMap<>();

  static ApplicationStreams restore(ApplicationState saved) {
    ApplicationStreams streams = new ApplicationStreams();
    for (StreamState state : saved.getStreamsList()) {
      streams.runs.put(state.getSoFar().getStreamingRunId(), new StreamingRun(state));
    }
    return streams;
  }

  void save(ApplicationState.Builder state) {
    runs.values().forEach(run -> state.addStreams(run.save()));
  }

  /**
   * Adds the start, a batch or the end of a streaming query. A batch or an end of an earlier run of
   * a query, which arrives late, is ignored.
   */
  void add(Fact fact) {
    if (fact.hasStreamingStarted()) {
      StreamingStarted started = fact.getStreamingStarted();
      run(started.getQueryId(), started.getRunId(), started.getName()).add(started);
    } else if (fact.hasStreamingProgress()) {
      StreamingProgress batch = fact.getStreamingProgress();
      if (runs.containsKey(batch.getRunId()) || isNew(batch)) {
        run(batch.getQueryId(), batch.getRunId(), batch.getName()).add(batch);
      }
    } else if (runs.containsKey(fact.getStreamingEnded().getRunId())) {
      runs.get(fact.getStreamingEnded().getRunId()).add(fact.getStreamingEnded());
    }
  }

  private boolean isNew(StreamingProgress batch) {
    return runs.values().stream()
        .noneMatch(
            run ->
                run.queryId().equals(batch.getQueryId()) && run.lastMs() >= batch.getTriggeredMs());
  }

  /** Returns a run; a new run replaces the earlier run of its query. */
  private StreamingRun run(String queryId, String runId, String name) {
    StreamingRun run = runs.get(runId);
    if (run == null) {
      run = new StreamingRun(StreamState.getDefaultInstance());
      runs.values().removeIf(other -> other.queryId().equals(queryId));
      runs.put(runId, run);
      if (runs.size() > MAX_STREAMS) {
        drop();
      }
    }
    run.identify(queryId, runId, name);
    return run;
  }

  /** Drops the oldest run that has ended or, if none has, the oldest run. */
  private void drop() {
    String oldest = runs.keySet().iterator().next();
    for (Map.Entry<String, StreamingRun> each : runs.entrySet()) {
      if (each.getValue().hasEnded()) {
        oldest = each.getKey();
        break;
      }
    }
    runs.remove(oldest);
  }

  /**
   * Rows of the queries that changed since the last call and, if the application {@code works}, of
   * those that do not wait for data. A batch can take longer than a window, and a finding about a
   * subject without rows resolves.
   */
  List<StreamingLive> rows(boolean works) {
    List<StreamingLive> rows = new ArrayList<>();
    for (StreamingRun run : runs.values()) {
      if (run.changed || (works && run.works())) {
        rows.add(run.row());
        run.changed = false;
      }
    }
    return rows;
  }
}
