package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Condition;
import io.sparkfuse.contracts.Signal;
import java.util.LinkedHashMap;
import java.util.Map;

/** Evaluates the conditions of a signal with the current counters of this JVM. */
final class Predicate {
  /** The counters that were used, as text. */
  final Map<String, String> observed = new LinkedHashMap<>();

  private String disagreement;
  private String fault;

  private Predicate() {}

  static Predicate evaluate(Signal signal, Map<String, Long> columns) {
    Predicate result = new Predicate();
    if (signal.hasStageId() && columns.isEmpty()) {
      result.disagreement =
          "stage " + signal.getStageId() + "." + signal.getStageAttempt() + " is not running";
      return result;
    }
    for (Condition condition : signal.getPredicateList()) {
      result.add(condition, columns.get(condition.getColumn()));
    }
    return result;
  }

  /** Returns why the predicate cannot be evaluated, or null. */
  String fault() {
    return fault;
  }

  /** Returns the first condition that is false, or null if all are true. */
  String disagreement() {
    return disagreement;
  }

  private void add(Condition condition, Long value) {
    if (value == null) {
      fault = "the hook has no counter " + condition.getColumn();
      return;
    }
    observed.put(condition.getColumn(), Long.toString(value));
    Boolean holds = holds(value, condition.getOperator(), condition.getThreshold());
    if (holds == null) {
      fault = "there is no operator " + condition.getOperator();
    } else if (!holds && disagreement == null) {
      disagreement =
          "in the driver "
              + condition.getColumn()
              + " is "
              + value
              + ", not "
              + condition.getOperator()
              + " "
              + plain(condition.getThreshold());
    }
  }

  private static Boolean holds(double value, String operator, double threshold) {
    switch (operator) {
      case ">=":
        return value >= threshold;
      case ">":
        return value > threshold;
      case "<=":
        return value <= threshold;
      case "<":
        return value < threshold;
      case "=":
        return value == threshold;
      default:
        return null;
    }
  }

  private static String plain(double number) {
    return number == Math.rint(number) && Math.abs(number) < 1e15
        ? Long.toString((long) number)
        : Double.toString(number);
  }
}
