package io.sparkfuse.spark.listener;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Shortens the names of tables and paths to their last two parts. */
final class TargetName {
  private static final int MAX_PATHS = 3;

  private TargetName() {}

  static String paths(String[] all) {
    Set<String> names = new LinkedHashSet<>();
    for (String each : all) {
      String name = path(each);
      if (!name.isEmpty() && !each.trim().equals("...") && names.size() < MAX_PATHS) {
        names.add(name);
      }
    }
    return String.join(", ", names);
  }

  /**
   * Returns the last two components of a path, without partition directories such as {@code
   * day=2026-11-24} and without user information.
   */
  static String path(String text) {
    String bare = text.replace("`", "").trim();
    int scheme = bare.indexOf(":/");
    List<String> components = new ArrayList<>();
    for (String component : (scheme >= 0 ? bare.substring(scheme + 1) : bare).split("/")) {
      String name = component.substring(component.lastIndexOf('@') + 1).trim();
      if (!name.isEmpty()) {
        components.add(name);
      }
    }
    while (!components.isEmpty() && components.get(components.size() - 1).indexOf('=') >= 0) {
      components.remove(components.size() - 1);
    }
    int size = components.size();
    return String.join("/", components.subList(Math.max(0, size - 2), size));
  }

  /** Returns the last two parts of the first name in backticks. */
  static String quotedName(String text) {
    int at = text.indexOf('`');
    StringBuilder name = new StringBuilder();
    while (at >= 0 && at < text.length() && text.charAt(at) == '`') {
      int end = text.indexOf('`', at + 1);
      if (end < 0) {
        break;
      }
      name.append(name.length() == 0 ? "" : ".").append(text, at + 1, end);
      at = text.startsWith(".`", end + 1) ? end + 2 : -1;
    }
    return tableOf(name.toString());
  }

  /** Returns the last two parts of a table's name, or an empty string for any other text. */
  static String tableOf(String text) {
    String bare = text.replace("`", "").replace("\"", "").trim();
    for (int i = 0; i < bare.length(); i++) {
      char c = bare.charAt(i);
      if (!PlanText.isWordChar(c) && c != '.' && c != '-') {
        return "";
      }
    }
    String table = bare.startsWith("spark_catalog.") ? bare.substring(14) : bare;
    int last = table.lastIndexOf('.');
    int before = last < 0 ? -1 : table.lastIndexOf('.', last - 1);
    return table.substring(before + 1);
  }
}
