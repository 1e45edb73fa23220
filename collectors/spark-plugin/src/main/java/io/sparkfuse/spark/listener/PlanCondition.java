package io.sparkfuse.spark.listener;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a filter or join of a plan asks, without literals: its columns, comparisons and the kind of
 * join, in their order. The shipper and the kernel make the same of an event log.
 */
final class PlanCondition {
  static final int LONGEST = 400;

  /** Bounds the callback; Spark itself cuts texts of this length in most places. */
  private static final int MAX_CHARS = 20_000;

  private static final Pattern PART = Pattern.compile("[A-Za-z0-9_]+|[<=>]+");
  private static final Set<String> WORDS =
      new HashSet<>(
          Arrays.asList(
              "AND",
              "Cross",
              "FullOuter",
              "IN",
              "INSET",
              "Inner",
              "LeftAnti",
              "LeftOuter",
              "LeftSemi",
              "LIKE",
              "NOT",
              "OR",
              "RightOuter",
              "isnotnull"));

  private PlanCondition() {}

  /** The node's name, and behind it what it asks if it is a filter or join. */
  static String named(Object node, String name) {
    if (!name.equals("Filter") && !name.equals("CartesianProduct") && !name.contains("Join")) {
      return name;
    }
    String text = String.valueOf(ScalaAccess.text(node, "simpleString"));
    String condition = of(text.substring(0, Math.min(text.length(), MAX_CHARS)));
    return condition.isEmpty() ? name : name + " " + condition;
  }

  static String of(String text) {
    StringBuilder found = new StringBuilder();
    Matcher parts = PART.matcher(text);
    while (parts.find()) {
      if (told(text, parts) && found.length() + parts.end() - parts.start() < LONGEST) {
        found.append(found.length() == 0 ? "" : " ").append(parts.group());
      }
    }
    return found.toString();
  }

  private static boolean told(String text, Matcher part) {
    char first = text.charAt(part.start());
    boolean column =
        part.end() + 1 < text.length()
            && text.charAt(part.end()) == '#'
            && Character.isDigit(text.charAt(part.end() + 1));
    return first == '<' || first == '=' || first == '>' || column || WORDS.contains(part.group());
  }
}
