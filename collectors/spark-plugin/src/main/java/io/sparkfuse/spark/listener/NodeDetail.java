package io.sparkfuse.spark.listener;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import scala.Tuple2;

/**
 * Extracts what identifies a node of a physical plan: the table or path of a scan or write, and the
 * key columns of an exchange, join or aggregate.
 *
 * <p>The result contains names only, never a literal of the query. The rules and cases are in
 * contracts/shared/node_details.json; the kernel's reader of event logs passes the same cases.
 */
final class NodeDetail {
  /** Maximum length of a detail, in code points. */
  static final int MAX_CHARS = 200;

  /** Only the beginning of a node's text is parsed, because Spark does not limit its length. */
  static final int MAX_PARSED_CHARS = 2_000;

  private static final int MAX_PATHS = 3;
  private static final int MAX_METADATA = 64;

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

  private static final Set<String> V2_WRITES =
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
   * Formats without a table, which Spark names only in the class of the writer, such as {@code
   * NoopWrite}.
   */
  private static final List<String> WRITERS =
      Arrays.asList("Console", "Foreach", "Kafka", "Memory", "Noop");

  /** Scans that name no table and no path. */
  private static final Set<String> OTHER_SCANS =
      new HashSet<>(Arrays.asList("ExistingRDD", "OneRowRelation"));

  private NodeDetail() {}

  /**
   * Returns the detail of a node, or an empty text if nothing identifies it.
   *
   * @param nodeName {@code SparkPlanInfo.nodeName}
   * @param simpleString {@code SparkPlanInfo.simpleString}
   * @param metadata the entries {@code Format} and {@code Location} of {@code
   *     SparkPlanInfo.metadata}, where the node has them
   */
  static String of(String nodeName, String simpleString, Map<String, String> metadata) {
    String name = beginning(nodeName, MAX_PARSED_CHARS).trim();
    String text = beginning(simpleString, MAX_PARSED_CHARS);
    String rest = (text.startsWith(name) ? text.substring(name.length()) : text).trim();
    return beginning(detail(name, text, rest, metadata), MAX_CHARS);
  }

  /** Returns the metadata that {@link #of} uses, from the Scala map of a {@code SparkPlanInfo}. */
  static Map<String, String> metadata(Object node) {
    Map<String, String> used = new HashMap<>();
    for (Object entry : ScalaAccess.list(ScalaAccess.get(node, "metadata"), MAX_METADATA)) {
      if (entry instanceof Tuple2) {
        String key = String.valueOf(((Tuple2<?, ?>) entry)._1());
        if (key.equals("Format") || key.equals("Location")) {
          String value = String.valueOf(((Tuple2<?, ?>) entry)._2());
          used.put(key, beginning(value, MAX_PARSED_CHARS));
        }
      }
    }
    return used;
  }

  private static String detail(
      String name, String text, String rest, Map<String, String> metadata) {
    if (name.startsWith("Execute ")) {
      return command(name, rest);
    }
    if (V2_WRITES.contains(firstWord(name))) {
      return v2Write(name, text);
    }
    if (name.contains("Aggregate")) {
      return aggregate(text);
    }
    if (name.contains("Join")) {
      return join(rest);
    }
    if (name.contains("Exchange")) {
      return name.startsWith("Broadcast") || name.startsWith("Reused") ? "" : exchange(rest);
    }
    return firstWord(name).endsWith("Scan") ? scan(name, metadata) : "";
  }

  // ---- writes

  private static String command(String name, String rest) {
    String table = rest.contains("CatalogTable(") ? catalogTable(rest) : quotedName(rest);
    boolean inserts = name.startsWith("Execute InsertInto");
    if (!inserts && !name.startsWith("Execute Save")) {
      return table;
    }
    List<String> parts = split(rest);
    String target = table;
    if (target.isEmpty() && !parts.isEmpty() && parts.get(0).indexOf('/') >= 0 && inserts) {
      target = path(parts.get(0));
    }
    if (target.isEmpty()) {
      target = path(valueAfter(rest, "path -> ", ",)"));
    }
    String format = inserts ? writtenFormat(parts) : "";
    return target.isEmpty() || format.isEmpty() ? target : target + " " + format;
  }

  /** Returns the table of a catalog entry, which Spark 3.3 writes on lines of its own. */
  private static String catalogTable(String text) {
    String database = valueAfter(text, "\nDatabase: ", "\n").trim();
    String name = valueAfter(text, "\nTable: ", "\n").trim();
    return name.isEmpty() ? "" : tableOf(database + "." + name);
  }

  /** Returns the name of the file format, an argument of its own before the save mode. */
  private static String writtenFormat(List<String> arguments) {
    Set<String> modes =
        new HashSet<>(Arrays.asList("Append", "ErrorIfExists", "Ignore", "Overwrite"));
    for (String argument : arguments.subList(Math.min(1, arguments.size()), arguments.size())) {
      if (modes.contains(argument)) {
        return "";
      }
      if (isWord(argument) && !argument.equals("true") && !argument.equals("false")) {
        return argument.toLowerCase(Locale.ROOT);
      }
    }
    return "";
  }

  private static String v2Write(String name, String text) {
    for (String writer : WRITERS) {
      if (text.contains(writer + "Write") || text.contains(writer + "StreamingWrite")) {
        return writer.toLowerCase(Locale.ROOT);
      }
    }
    String table = tableOf(valueAfter(text, "table=", ",)] "));
    if (table.isEmpty()) {
      String afterName = text.substring(Math.min(text.length(), firstWord(name).length())).trim();
      table = tableOf(firstWord(afterName));
    }
    String format = valueAfter(text, "format=", ",)] ").toLowerCase(Locale.ROOT);
    return table.isEmpty() || !isWord(format) ? table : table + " " + format;
  }

  // ---- keys

  private static String aggregate(String text) {
    int found = text.indexOf("keys=[");
    found = found >= 0 ? found : text.indexOf("key=[");
    String keys = found < 0 ? "" : columns(inside(text, text.indexOf('[', found)));
    if (keys.isEmpty()) {
      return "";
    }
    return (text.contains("functions=[]") ? "distinct " : "group by ") + keys;
  }

  private static String join(String rest) {
    String left = "";
    String right = "";
    String others = rest;
    String nullSafe = "";
    if (rest.startsWith("[")) {
      String first = inside(rest, 0);
      nullSafe = comparesNulls(first) ? "null-safe" : "";
      left = columns(first);
      others = after(rest, first.length() + 2);
      if (others.startsWith("[")) {
        String second = inside(others, 0);
        right = columns(second);
        others = after(others, second.length() + 2);
      }
    }
    String keys = left.equals(right) || right.isEmpty() ? left : left + " = " + right;
    String type = joinType(others);
    return words(words(type, nullSafe), keys);
  }

  /**
   * Spark joins by {@code a <=> b}, as INTERSECT and EXCEPT do, on the keys {@code coalesce(a, 0),
   * isnull(a)}.
   */
  private static boolean comparesNulls(String keys) {
    return keys.contains("coalesce(") && keys.contains("isnull(");
  }

  private static String words(String one, String other) {
    return one.isEmpty() || other.isEmpty() ? one + other : one + " " + other;
  }

  private static String joinType(String text) {
    for (String part : split(text)) {
      int end = 0;
      while (end < part.length() && isWordChar(part.charAt(end))) {
        end++;
      }
      if (JOIN_TYPES.contains(part.substring(0, end))) {
        return part.substring(0, end);
      }
    }
    return "";
  }

  private static String exchange(String rest) {
    int end = 0;
    while (end < rest.length() && isWordChar(rest.charAt(end))) {
      end++;
    }
    String kind = rest.substring(0, end);
    boolean hasArguments = end < rest.length() && rest.charAt(end) == '(';
    String keys = hasArguments ? columns(inside(rest, end)) : "";
    return keys.isEmpty() ? kind : kind + " " + keys;
  }

  /** Returns the columns that a list of expressions names, each once, separated by commas. */
  private static String columns(String list) {
    Set<String> names = new LinkedHashSet<>();
    for (String expression : split(list)) {
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
    while (mark > 0 && end < expression.length() && isDigit(expression.charAt(end))) {
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
      if (expression.charAt(i) == '#' && isDigit(expression.charAt(i + 1))) {
        int start = i;
        while (start > 0 && isWordChar(expression.charAt(start - 1))) {
          start--;
        }
        if (start < i) {
          names.add(expression.substring(start, i));
        }
      }
    }
  }

  // ---- scans

  private static String scan(String name, Map<String, String> metadata) {
    String first = firstWord(name);
    String rest = name.substring(first.length()).trim();
    if (rest.startsWith("In-memory table ")) {
      String table = tableOf(rest.substring("In-memory table ".length()));
      return table.isEmpty() ? "in-memory" : table + " in-memory";
    }
    if (rest.startsWith("JDBCRelation(")) {
      String table = tableOf(inside(rest, rest.indexOf('(')));
      return table.isEmpty() ? "jdbc" : table + " jdbc";
    }
    String format = firstWord(rest);
    String target = rest.substring(format.length()).trim();
    if (OTHER_SCANS.contains(format)) {
      return "";
    }
    if (target.isEmpty() && (!first.equals("Scan") || format.indexOf('.') >= 0)) {
      target = format;
      format = "";
    }
    target = target.indexOf('/') >= 0 ? paths(target.split(",")) : tableOf(target);
    String location = metadata.getOrDefault("Location", "");
    if (target.isEmpty() && location.indexOf('[') >= 0) {
      target = paths(inside(location, location.indexOf('[')).split(", "));
    }
    format = metadata.getOrDefault("Format", format).toLowerCase(Locale.ROOT);
    if (!isWord(format)) {
      return target;
    }
    return target.isEmpty() ? format : target + " " + format;
  }

  private static String paths(String[] all) {
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
   * Returns the last two components of a path, without directories of partitions such as {@code
   * day=2026-11-24} and without user information.
   */
  private static String path(String text) {
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

  // ---- names and lists

  /** Returns the first name in backticks, as its last two parts. */
  private static String quotedName(String text) {
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

  /** Returns the last two parts of a table's name, or an empty text if it is no such name. */
  private static String tableOf(String text) {
    String bare = text.replace("`", "").replace("\"", "").trim();
    for (int i = 0; i < bare.length(); i++) {
      char c = bare.charAt(i);
      if (!isWordChar(c) && c != '.' && c != '-') {
        return "";
      }
    }
    String table = bare.startsWith("spark_catalog.") ? bare.substring(14) : bare;
    int last = table.lastIndexOf('.');
    int before = last < 0 ? -1 : table.lastIndexOf('.', last - 1);
    return table.substring(before + 1);
  }

  /** Returns what follows a marker, up to one of the given end characters. */
  private static String valueAfter(String text, String marker, String ends) {
    int start = text.indexOf(marker);
    if (start < 0) {
      return "";
    }
    int end = start + marker.length();
    while (end < text.length() && ends.indexOf(text.charAt(end)) < 0) {
      end++;
    }
    return text.substring(start + marker.length(), end);
  }

  /** Returns the text between the bracket at {@code open} and the one that closes it. */
  private static String inside(String text, int open) {
    int depth = 0;
    for (int i = open; i < text.length(); i++) {
      char c = text.charAt(i);
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (depth == 0) {
        return text.substring(open + 1, i);
      }
    }
    return text.substring(open + 1);
  }

  /** Returns the text from {@code start}, without the comma that separates it. */
  private static String after(String text, int start) {
    String rest = text.substring(Math.min(start, text.length())).trim();
    return rest.startsWith(",") ? rest.substring(1).trim() : rest;
  }

  /** Splits a text at the commas that are in no bracket. */
  private static List<String> split(String text) {
    List<String> parts = new ArrayList<>();
    int depth = 0;
    int start = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (c == ',' && depth <= 0) {
        parts.add(text.substring(start, i).trim());
        start = i + 1;
      }
    }
    parts.add(text.substring(start).trim());
    return parts;
  }

  private static String firstWord(String text) {
    int end = 0;
    while (end < text.length() && text.charAt(end) > ' ') {
      end++;
    }
    return text.substring(0, end);
  }

  private static boolean isWord(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (!isWordChar(text.charAt(i))) {
        return false;
      }
    }
    return !text.isEmpty();
  }

  private static boolean isWordChar(char c) {
    boolean letter = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
    return letter || isDigit(c) || c == '_' || c >= 0x80;
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  /** Returns the first characters of a text, without cutting one that takes two Java chars. */
  private static String beginning(String text, int chars) {
    if (text.length() <= chars || text.codePointCount(0, text.length()) <= chars) {
      return text;
    }
    return text.substring(0, text.offsetByCodePoints(0, chars));
  }
}
