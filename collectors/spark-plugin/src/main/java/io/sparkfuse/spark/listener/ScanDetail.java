package io.sparkfuse.spark.listener;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** Names what a scan reads: the table or path, and the format. */
final class ScanDetail {
  /** Scans that name neither a table nor a path. */
  private static final Set<String> OTHER_SCANS =
      new HashSet<>(Arrays.asList("ExistingRDD", "OneRowRelation"));

  private ScanDetail() {}

  static String of(String name, Map<String, String> metadata) {
    String first = PlanText.firstWord(name);
    String rest = name.substring(first.length()).trim();
    if (rest.startsWith("In-memory table ")) {
      String table = TargetName.tableOf(rest.substring("In-memory table ".length()));
      return table.isEmpty() ? "in-memory" : table + " in-memory";
    }
    if (rest.startsWith("JDBCRelation(")) {
      String table = TargetName.tableOf(PlanText.inside(rest, rest.indexOf('(')));
      return table.isEmpty() ? "jdbc" : table + " jdbc";
    }
    String format = PlanText.firstWord(rest);
    String target = rest.substring(format.length()).trim();
    if (OTHER_SCANS.contains(format)) {
      return "";
    }
    if (target.isEmpty() && (!first.equals("Scan") || format.indexOf('.') >= 0)) {
      target = format;
      format = "";
    }
    target =
        target.indexOf('/') >= 0 ? TargetName.paths(target.split(",")) : TargetName.tableOf(target);
    String location = metadata.getOrDefault("Location", "");
    if (target.isEmpty() && location.indexOf('[') >= 0) {
      target = TargetName.paths(PlanText.inside(location, location.indexOf('[')).split(", "));
    }
    format = metadata.getOrDefault("Format", format).toLowerCase(Locale.ROOT);
    if (!PlanText.isWord(format)) {
      return target;
    }
    return target.isEmpty() ? format : target + " " + format;
  }
}
