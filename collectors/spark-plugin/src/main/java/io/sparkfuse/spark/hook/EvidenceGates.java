package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.HookCounters;
import io.sparkfuse.contracts.Signal;
import java.util.LinkedHashMap;
import java.util.Map;

/** Gates that use the driver's own counters to decide whether the right work would be stopped. */
final class EvidenceGates {
  /**
   * Longest time in ms from reading the controls to a stop, so that a hold takes effect within this
   * time.
   */
  static final long MAX_PAUSE_MS = 10_000;

  private EvidenceGates() {}

  /**
   * If several users or queries share the driver, refuses all stops except {@code cancel_query} of
   * one owner's query, which the policy must allow.
   */
  static GateResult sharedDriver(GateContext context) {
    if (!context.stops() || context.observed.sharedBy == null) {
      return GateResult.PASS;
    }
    String shared = "the driver is shared (" + context.observed.sharedBy + ")";
    if (!context.signal.getAction().equals(Actions.CANCEL_QUERY)) {
      return GateResult.refused(shared + ", so only cancel_query is possible");
    }
    if (context.policy == null || !context.policy.sharedDriver) {
      return GateResult.refused(shared + ", which the policy does not allow");
    }
    return context.observed.queryOwners > 1
        ? GateResult.refused("the jobs of the query belong to several users or sessions")
        : GateResult.PASS;
  }

  /**
   * Refuses a signal if the counters may be incomplete or old; without reliable counters the hook
   * never acts.
   */
  static GateResult blind(GateContext context) {
    String reason = context.isSwitch() ? null : blindness(context);
    return reason == null ? GateResult.PASS : GateResult.refuse("blind", reason);
  }

  private static String blindness(GateContext context) {
    Observation observed = context.observed;
    if (context.policy == null) {
      return "without a policy no counter can be checked";
    }
    if (observed.droppedEvents != 0) {
      return observed.droppedEvents < 0
          ? "it is not known whether Spark dropped events"
          : "Spark dropped " + observed.droppedEvents + " events";
    }
    if (observed.skippedEvents) {
      return "events of the stage were skipped to protect the driver";
    }
    if (observed.overflowed) {
      return "the driver runs more jobs, stages or tasks than the hook can count";
    }
    if (observed.directTransport) {
      return "executors send their progress to Kafka (spark.sparkfuse.executor.transport=direct)";
    }
    String missing = missingTarget(context);
    if (missing == null) {
      missing = missingSetting(context);
    }
    if (missing != null) {
      return missing;
    }
    return observed.progressAgeMs > context.policy.maxCounterAgeMs
        ? "a running task has not reported progress for " + observed.progressAgeMs + " ms"
        : null;
  }

  private static String missingTarget(GateContext context) {
    Signal signal = context.signal;
    String scope = context.policy.scope;
    boolean ofTask = scope.equals(Policy.TASK);
    if (!signal.hasStageId() && (ofTask || scope.equals(Policy.STAGE))) {
      return "the policy needs a stage and the signal has none";
    }
    if (signal.hasStageId() && !context.observed.stageRuns()) {
      return stage(signal) + " is not running";
    }
    if (ofTask && !runs(signal, context.observed)) {
      return "the task " + signal.getTaskId() + " does not run in " + stage(signal);
    }
    return scope.equals(Policy.QUERY) && context.observed.queryJobs.isEmpty()
        ? "the query does not run"
        : null;
  }

  /**
   * Returns which setting the job must set so that the hook has a counter that the policy needs;
   * null if no setting is missing.
   */
  private static String missingSetting(GateContext context) {
    for (HookCounters.Setting each : HookCounters.SETTINGS) {
      if (context.policy.uses(each.counter) && context.observed.counter(each.counter) == null) {
        return "without a valid " + each.setting + " the hook has no counter " + each.counter;
      }
    }
    return null;
  }

  private static boolean runs(Signal signal, Observation observed) {
    return signal.hasTaskId() && observed.stageTasks.contains(signal.getTaskId());
  }

  /** Refuses a stop whose target is not running, or is not the work that the counters describe. */
  static GateResult target(GateContext context) {
    String fault = context.stops() ? targetFault(context.signal, context.observed) : null;
    return fault == null ? GateResult.PASS : GateResult.refused(fault);
  }

  private static String targetFault(Signal signal, Observation observed) {
    switch (signal.getAction()) {
      case Actions.KILL_TASK:
        return runs(signal, observed)
            ? null
            : "the task " + signal.getTaskId() + " does not run in " + stage(signal);
      case Actions.CANCEL_QUERY:
        if (observed.queryJobs.isEmpty()) {
          return "the query does not run";
        }
        return signal.hasStageId() && !observed.queryHasStage()
            ? stage(signal) + " is not part of the query"
            : null;
      case Actions.CANCEL_STAGE:
        return signal.hasStageId() ? null : "cancel_stage requires a stage";
      default:
        return null;
    }
  }

  /** Refuses a signal if the hook's own counters do not fulfil a condition of the policy. */
  static GateResult predicate(GateContext context) {
    if (context.isSwitch() || context.policy == null) {
      return GateResult.PASS;
    }
    for (Policy.Condition condition : context.policy.conditions) {
      Long value = context.observed.counter(condition.column);
      if (value == null) {
        return GateResult.refused("the hook has no counter " + condition.column);
      }
      if (!condition.holds(value)) {
        return GateResult.refuse(
            "disagrees",
            "in the driver " + condition.column + " is " + value + ", not " + condition);
      }
    }
    Long elapsedMs = context.observed.counter(context.policy.elapsedCounter());
    if (context.policy.afterMs <= 0 || (elapsedMs != null && elapsedMs >= context.policy.afterMs)) {
      return GateResult.PASS;
    }
    String known = elapsedMs == null ? "an unknown time" : "only " + elapsedMs + " ms";
    return GateResult.refuse("disagrees", "the " + context.policy.scope + " has run for " + known);
  }

  /**
   * Refuses a stop if the driver paused, for example in a garbage collection, after it began to
   * read the controls, because a hold may have begun during the pause.
   */
  static GateResult pause(GateContext context) {
    return context.stopsNow() && context.sinceControlsMs > MAX_PAUSE_MS
        ? GateResult.refused(
            "the driver paused: it began to read the controls "
                + context.sinceControlsMs
                + " ms before it could act")
        : GateResult.PASS;
  }

  /** Returns the counters that the policy's conditions use, as text. */
  static Map<String, String> counters(GateContext context) {
    Map<String, String> values = new LinkedHashMap<>();
    if (context.policy != null) {
      for (Policy.Condition condition : context.policy.conditions) {
        Long value = context.observed.counter(condition.column);
        if (value != null) {
          values.put(condition.column, Long.toString(value));
        }
      }
    }
    return values;
  }

  private static String stage(Signal signal) {
    return "stage " + signal.getStageId() + "." + signal.getStageAttempt();
  }
}
