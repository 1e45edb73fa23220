package io.sparkfuse.spark.listener;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Names the target of a command, or of a write through version 2 of the data source API. */
final class WriteDetail {
  static final Set<String> V2_WRITES =
      new HashSet<>(
          Arrays.asList(
              "AppendData",
              "AtomicCreateTableAsSelect",
              "AtomicReplaceTableAsSelect",
              "CreateTableAsSelect",
              "OverwriteByExpression",
              "OverwritePartitionsDynamic",
              "ReplaceData",
              "ReplaceTableAsSelect",
              "WriteDelta",
              "WriteToDataSourceV2"));

  /**
   * Formats that have no table; Spark names them only in the class of the writer, such as {@code
   * NoopWrite}.
   */
  private static final List<String> WRITERS =
      Arrays.asList("Console", "Foreach", "Kafka", "Memory", "Noop");

  private WriteDetail() {}

  static String command(String name, String rest) {
    String table =
        rest.contains("CatalogTable(") ? catalogTable(rest) : TargetName.quotedName(rest);
    boolean inserts = name.startsWith("Execute InsertInto");
    if (!inserts && !name.startsWith("Execute Save")) {
      return table;
    }
    List<String> parts = PlanText.split(rest);
    String target = table;
    if (target.isEmpty() && !parts.isEmpty() && parts.get(0).indexOf('/') >= 0 && inserts) {
      target = TargetName.path(parts.get(0));
    }
    if (target.isEmpty()) {
      target = TargetName.path(PlanText.valueAfter(rest, "path -> ", ",)"));
    }
    String format = inserts ? writtenFormat(parts) : "";
    return target.isEmpty() || format.isEmpty() ? target : target + " " + format;
  }

  /**
   * Returns the table in the text of a catalog entry; Spark 3.3 prints database and table on
   * separate lines.
   */
  private static String catalogTable(String text) {
    String database = PlanText.valueAfter(text, "\nDatabase: ", "\n").trim();
    String name = PlanText.valueAfter(text, "\nTable: ", "\n").trim();
    return name.isEmpty() ? "" : TargetName.tableOf(database + "." + name);
  }

  /**
   * Returns the file format: the first word among the arguments between the path and the save mode.
   */
  private static String writtenFormat(List<String> arguments) {
    Set<String> modes =
        new HashSet<>(Arrays.asList("Append", "ErrorIfExists", "Ignore", "Overwrite"));
    for (String argument : arguments.subList(Math.min(1, arguments.size()), arguments.size())) {
      if (modes.contains(argument)) {
        return "";
      }
      if (PlanText.isWord(argument) && !argument.equals("true") && !argument.equals("false")) {
        return argument.toLowerCase(Locale.ROOT);
      }
    }
    return "";
  }

  static String v2Write(String name, String text) {
    for (String writer : WRITERS) {
      if (text.contains(writer + "Write") || text.contains(writer + "StreamingWrite")) {
        return writer.toLowerCase(Locale.ROOT);
      }
    }
    String table = TargetName.tableOf(PlanText.valueAfter(text, "table=", ",)] "));
    if (table.isEmpty()) {
      String afterName =
          text.substring(Math.min(text.length(), PlanText.firstWord(name).length())).trim();
      table = TargetName.tableOf(PlanText.firstWord(afterName));
    }
    String format = PlanText.valueAfter(text, "format=", ",)] ").toLowerCase(Locale.ROOT);
    return table.isEmpty() || !PlanText.isWord(format) ? table : table + " " + format;
  }
}
