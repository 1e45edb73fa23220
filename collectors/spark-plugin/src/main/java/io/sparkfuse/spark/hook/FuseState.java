package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.json.JsonWriter;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The state of the fuse for job code: mode, hold, and the signals that were shown or obeyed.
 *
 * <p>Open from the first warning or act until {@link #reset}. Thread-safe.
 */
public final class FuseState {
  private static final int MAX_EVENTS = 20;

  private final FuseMode mode;
  private final ArrayDeque<Map<String, Object>> events = new ArrayDeque<>();
  private boolean hold;
  private boolean open;
  private boolean watching;

  public FuseState(FuseMode mode, boolean hold) {
    this.mode = mode;
    this.hold = hold;
  }

  FuseMode mode() {
    return mode;
  }

  synchronized boolean holds() {
    return hold;
  }

  /** Sets whether signals can reach this job now. */
  synchronized void setWatching(boolean now) {
    watching = now;
  }

  /** Sets or removes the hold, which prevents every stop. */
  public synchronized void setHold(boolean now) {
    hold = now;
  }

  /** Closes the fuse, after job code has handled the problem. */
  public synchronized void reset() {
    open = false;
  }

  synchronized void opened(Signal signal, SignalResult result, long nowMs) {
    open = true;
    if (events.size() >= MAX_EVENTS) {
      events.removeFirst();
    }
    events.addLast(event(signal, result, nowMs));
  }

  private static Map<String, Object> event(Signal signal, SignalResult result, long nowMs) {
    Map<String, Object> event = new LinkedHashMap<>();
    event.put("signal_id", signal.getSignalId());
    event.put("generation", signal.getGeneration());
    event.put("rule", ReasonText.clean(signal.getRule()));
    event.put("action", signal.getAction());
    event.put("outcome", result.outcome);
    event.put("evidence", ReasonText.clean(signal.getEvidence()));
    event.put("override", ReasonText.override(signal));
    event.put("finding_id", signal.getFindingId());
    event.put("dashboard_url", ReasonText.clean(signal.getDashboardUrl()));
    event.put("message", ReasonText.of(signal));
    event.put("at_ms", nowMs);
    if (signal.hasStageId()) {
      event.put("stage_id", signal.getStageId());
      event.put("stage_attempt", signal.getStageAttempt());
    }
    return event;
  }

  /** Returns the state as JSON. */
  public synchronized String toJson() {
    Map<String, Object> state = new LinkedHashMap<>();
    state.put("mode", mode.text());
    state.put("hold", hold);
    state.put("watching", watching);
    state.put("state", open ? "open" : "closed");
    state.put("events", new ArrayList<>(events));
    return JsonWriter.write(state);
  }
}
