package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.HookCounters;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What the fuse may do about one rule, and the conditions on the hook's counters. Immutable. */
final class Policy {
  /** One condition: the comparison of a counter with a value. */
  static final class Condition {
    final String column;
    final String operator;
    final double threshold;

    private Condition(JsonFields fields) {
      column = fields.text("column");
      operator = fields.text("operator");
      threshold = fields.number("threshold");
      JsonFields.require(!column.isEmpty() && fields.has("threshold"), "a condition is incomplete");
      JsonFields.require(OPERATORS.contains(operator), "there is no operator " + operator);
    }

    boolean holds(double value) {
      switch (operator) {
        case ">=":
          return value >= threshold;
        case ">":
          return value > threshold;
        case "<=":
          return value <= threshold;
        case "<":
          return value < threshold;
        default:
          return value == threshold;
      }
    }

    @Override
    public String toString() {
      boolean whole = threshold == Math.rint(threshold) && Math.abs(threshold) < 1e15;
      return operator + " " + (whole ? Long.toString((long) threshold) : threshold);
    }
  }

  static final String TASK = "task";
  static final String STAGE = "stage";
  static final String QUERY = "query";

  private static final List<String> OPERATORS =
      Collections.unmodifiableList(java.util.Arrays.asList(">=", ">", "<=", "<", "="));

  final String rule;

  /**
   * The kind of target: task, stage, query or application. Conditions use counters of this scope
   * and of wider scopes.
   */
  final String scope;

  final List<String> actions;
  final List<Condition> conditions;
  final long afterMs;
  final long maxCounterAgeMs;
  final boolean requiresApproval;
  final boolean sharedDriver;

  private Policy(JsonFields fields) {
    rule = fields.text("rule");
    String view = fields.text("view");
    scope = scopeOf(view);
    afterMs = fields.whole("after_ms");
    maxCounterAgeMs = fields.whole("max_counter_age_ms");
    requiresApproval = fields.flag("requires_approval");
    sharedDriver = fields.flag("shared_driver");
    List<String> allowed = new ArrayList<>();
    for (Object action : fields.list("actions")) {
      JsonFields.require(
          Actions.WARN.equals(action)
              || Actions.STOPS.contains(action)
              || Actions.EXTERNAL_STOP.equals(action),
          "no action " + action);
      allowed.add((String) action);
    }
    List<Condition> all = new ArrayList<>();
    for (Object condition : fields.list("conditions")) {
      all.add(new Condition(JsonFields.of(condition, "a condition")));
    }
    actions = Collections.unmodifiableList(allowed);
    conditions = Collections.unmodifiableList(all);
    JsonFields.require(!rule.isEmpty() && !view.isEmpty(), "rule or view is missing");
    JsonFields.require(!scope.isEmpty(), "the view " + view + " has no target");
    JsonFields.require(!conditions.isEmpty(), "a policy requires conditions");
    JsonFields.require(maxCounterAgeMs > 0, "max_counter_age_ms is not positive");
  }

  /**
   * Parses one line.
   *
   * @throws IllegalArgumentException if the line is not a policy
   */
  static Policy of(String line) {
    return new Policy(JsonFields.read(line, "a policy"));
  }

  /**
   * Returns the scope of a view: task, stage, query or application; an empty string for other
   * views.
   */
  private static String scopeOf(String view) {
    for (HookCounters.Scope each : HookCounters.SCOPES) {
      if (each.view.equals(view)) {
        return each.scope;
      }
    }
    return "";
  }

  /** Returns whether a condition is about a counter. */
  boolean uses(String counter) {
    return conditions.stream().anyMatch(each -> each.column.equals(counter));
  }

  /** Returns the name of the counter that contains how long the target has run. */
  String elapsedCounter() {
    switch (scope) {
      case TASK:
        return "task_age_ms";
      case STAGE:
        return "elapsed_ms";
      case QUERY:
        return "query_elapsed_ms";
      default:
        return "application_elapsed_ms";
    }
  }
}
