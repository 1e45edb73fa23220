package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.json.JsonWriter;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * The state of the fuse for job code: mode, hold, and the signals that were shown or obeyed.
 *
 * <p>The fuse is open from the first act until {@link #reset}. Warnings, held signals and acts that
 * failed are listed as events, but do not keep the fuse open. Thread-safe.
 */
public final class FuseState {
  private static final int MAX_EVENTS = 20;

  private final FuseMode mode;
  private final ArrayDeque<Map<String, Object>> events = new ArrayDeque<>();

  /** Sequence numbers of the acts that keep the fuse open. */
  private final Set<Long> acts = new HashSet<>();

  private boolean hold;
  private boolean watching;
  private long sequence;

  public FuseState(FuseMode mode, boolean hold) {
    this.mode = mode;
    this.hold = hold;
  }

  FuseMode mode() {
    return mode;
  }

  /** Returns whether a hold of the owner prevents every stop. */
  public synchronized boolean holds() {
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
    acts.clear();
  }

  /** Lists a signal that stopped nothing; {@code outcome} is warned or held. */
  synchronized void shown(Signal signal, String outcome, long nowMs) {
    add(signal, outcome, Collections.emptySet(), nowMs);
  }

  /**
   * Opens the fuse, because work of the given blocks is about to be stopped. Returns the event's
   * sequence number.
   */
  synchronized long opened(Signal signal, Set<String> blocks, long nowMs) {
    long event = add(signal, "requested", blocks, nowMs);
    acts.add(event);
    return event;
  }

  /** Sets the outcome of an act: ended or unfreed. */
  synchronized void finished(long event, String outcome) {
    setOutcome(event, outcome);
  }

  /** Notes that an act threw an exception, so it does not keep the fuse open. */
  synchronized void failed(long event) {
    acts.remove(event);
    setOutcome(event, "failed");
  }

  private void setOutcome(long event, String outcome) {
    for (Map<String, Object> each : events) {
      if (each.get("sequence").equals(event)) {
        each.put("outcome", outcome);
      }
    }
  }

  private long add(Signal signal, String outcome, Set<String> blocks, long nowMs) {
    if (events.size() >= MAX_EVENTS) {
      events.removeFirst();
    }
    sequence++;
    Map<String, Object> event = event(signal, outcome, nowMs);
    event.put("blocks", new ArrayList<>(blocks));
    events.addLast(event);
    return sequence;
  }

  private Map<String, Object> event(Signal signal, String outcome, long nowMs) {
    Map<String, Object> event = new LinkedHashMap<>();
    event.put("sequence", sequence);
    event.put("signal_id", ReasonText.clean(signal.getSignalId()));
    event.put("generation", signal.getGeneration());
    event.put("rule", ReasonText.clean(signal.getRule()));
    event.put("action", signal.getAction());
    event.put("outcome", outcome);
    event.put("evidence", ReasonText.clean(signal.getEvidence()));
    event.put("override", ReasonText.override(signal));
    event.put("finding_id", signal.getFindingId());
    event.put("dashboard_url", ReasonText.clean(signal.getDashboardUrl()));
    event.put("message", ReasonText.of(signal));
    event.put("at_ms", nowMs);
    event.put("stage_id", signal.hasStageId() ? signal.getStageId() : null);
    event.put("stage_attempt", signal.hasStageId() ? signal.getStageAttempt() : null);
    event.put("query_id", signal.hasQueryId() ? signal.getQueryId() : null);
    event.put("task_id", signal.hasTaskId() ? signal.getTaskId() : null);
    event.put("job_tag", signal.getJobTag().isEmpty() ? null : signal.getJobTag());
    return event;
  }

  /** Returns the state as JSON. */
  public synchronized String toJson() {
    Map<String, Object> state = new LinkedHashMap<>();
    state.put("mode", mode.text());
    state.put("hold", hold);
    state.put("watching", watching);
    state.put("state", acts.isEmpty() ? "closed" : "open");
    state.put("events", new ArrayList<>(events));
    return JsonWriter.write(state);
  }
}
