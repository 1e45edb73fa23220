package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.PlanConditions;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Extracts the condition of a filter or join without literals: columns, comparison operators and
 * the join type, in their order.
 *
 * <p>The recognised words and the test cases are in contracts/shared/plan_conditions.yaml; the
 * readers of event logs extract the same conditions.
 */
final class PlanCondition {
  static final int MAX_CONDITION_CHARS = PlanConditions.MOST_CHARS;

  private static final Pattern PART = Pattern.compile("[A-Za-z0-9_]+|[<=>]+");
  private static final Set<String> WORDS = new HashSet<>(PlanConditions.WORDS);

  private PlanCondition() {}

  /** Returns the node's name, followed by its condition if the node is a filter or join. */
  static String withCondition(Object node, String name) {
    if (!name.equals("Filter") && !name.equals("CartesianProduct") && !name.contains("Join")) {
      return name;
    }
    String text = String.valueOf(ScalaAccess.text(node, "simpleString"));
    String condition =
        of(text.substring(0, Math.min(text.length(), PlanConditions.MOST_TEXT_CHARS)));
    return condition.isEmpty() ? name : name + " " + condition;
  }

  static String of(String text) {
    StringBuilder found = new StringBuilder();
    Matcher parts = PART.matcher(text);
    while (parts.find()) {
      if (isKept(text, parts)
          && found.length() + parts.end() - parts.start() < MAX_CONDITION_CHARS) {
        found.append(found.length() == 0 ? "" : " ").append(parts.group());
      }
    }
    return found.toString();
  }

  private static boolean isKept(String text, Matcher part) {
    char first = text.charAt(part.start());
    boolean column =
        part.end() + 1 < text.length()
            && text.charAt(part.end()) == '#'
            && Character.isDigit(text.charAt(part.end() + 1));
    return first == '<' || first == '=' || first == '>' || column || WORDS.contains(part.group());
  }
}
