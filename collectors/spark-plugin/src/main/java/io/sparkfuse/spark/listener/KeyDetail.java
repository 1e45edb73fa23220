package io.sparkfuse.spark.listener;

import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;

/** Extracts the names of the key columns of an aggregate, a join or an exchange. */
final class KeyDetail {
  private static final Set<String> JOIN_TYPES =
      new HashSet<>(
          Arrays.asList(
              "Inner",
              "Cross",
              "LeftOuter",
              "RightOuter",
              "FullOuter",
              "LeftSemi",
              "LeftAnti",
              "LeftSingle",
              "ExistenceJoin"));

  private KeyDetail() {}

  static String aggregate(String text) {
    int found = text.indexOf("keys=[");
    found = found >= 0 ? found : text.indexOf("key=[");
    String keys = found < 0 ? "" : columns(PlanText.inside(text, text.indexOf('[', found)));
    if (keys.isEmpty()) {
      return "";
    }
    return (text.contains("functions=[]") ? "distinct " : "group by ") + keys;
  }

  static String join(String rest) {
    String left = "";
    String right = "";
    String others = rest;
    String nullSafe = "";
    if (rest.startsWith("[")) {
      String first = PlanText.inside(rest, 0);
      nullSafe = comparesNulls(first) ? "null-safe" : "";
      left = columns(first);
      others = PlanText.after(rest, first.length() + 2);
      if (others.startsWith("[")) {
        String second = PlanText.inside(others, 0);
        right = columns(second);
        others = PlanText.after(others, second.length() + 2);
      }
    }
    String keys = left.equals(right) || right.isEmpty() ? left : left + " = " + right;
    String type = joinType(others);
    return words(words(type, nullSafe), keys);
  }

  /**
   * Returns whether a join also matches nulls ({@code a <=> b}), as joins for INTERSECT and EXCEPT
   * do. For such a join, Spark's join keys are {@code coalesce(a, 0), isnull(a)}.
   */
  private static boolean comparesNulls(String keys) {
    return keys.contains("coalesce(") && keys.contains("isnull(");
  }

  private static String words(String one, String other) {
    return one.isEmpty() || other.isEmpty() ? one + other : one + " " + other;
  }

  private static String joinType(String text) {
    for (String part : PlanText.split(text)) {
      int end = 0;
      while (end < part.length() && PlanText.isWordChar(part.charAt(end))) {
        end++;
      }
      if (JOIN_TYPES.contains(part.substring(0, end))) {
        return part.substring(0, end);
      }
    }
    return "";
  }

  static String exchange(String rest) {
    int end = 0;
    while (end < rest.length() && PlanText.isWordChar(rest.charAt(end))) {
      end++;
    }
    String kind = rest.substring(0, end);
    boolean hasArguments = end < rest.length() && rest.charAt(end) == '(';
    String keys = hasArguments ? columns(PlanText.inside(rest, end)) : "";
    return keys.isEmpty() ? kind : kind + " " + keys;
  }

  /** Returns the distinct columns that a list of expressions names, separated by commas. */
  private static String columns(String list) {
    Set<String> names = new LinkedHashSet<>();
    for (String expression : PlanText.split(list)) {
      String whole = wholeColumn(expression);
      if (whole != null) {
        names.add(whole);
      } else {
        addColumns(expression, names);
      }
    }
    return String.join(", ", names);
  }

  /** Returns the name if the expression is one column, possibly with a sort order, else null. */
  private static String wholeColumn(String expression) {
    int mark = expression.indexOf('#');
    int end = mark + 1;
    while (mark > 0 && end < expression.length() && PlanText.isDigit(expression.charAt(end))) {
      end++;
    }
    if (mark <= 0 || end == mark + 1) {
      return null;
    }
    for (int i = 0; i < mark; i++) {
      if ("()[],".indexOf(expression.charAt(i)) >= 0) {
        return null;
      }
    }
    String order = expression.substring(end);
    order = order.startsWith("L") ? order.substring(1) : order;
    boolean only = order.isEmpty() || order.startsWith(" ASC") || order.startsWith(" DESC");
    return only ? expression.substring(0, mark).trim() : null;
  }

  private static void addColumns(String expression, Set<String> names) {
    for (int i = 1; i + 1 < expression.length(); i++) {
      if (expression.charAt(i) == '#' && PlanText.isDigit(expression.charAt(i + 1))) {
        int start = i;
        while (start > 0 && PlanText.isWordChar(expression.charAt(start - 1))) {
          start--;
        }
        if (start < i) {
          names.add(expression.substring(start, i));
        }
      }
    }
  }
}
