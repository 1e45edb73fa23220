package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.NodeDetails;
import io.sparkfuse.spark.facts.SecretScrubber;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import scala.Tuple2;

/**
 * Extracts what identifies a node of a physical plan: the table of a scan, the keys of an exchange,
 * the path of a write.
 *
 * <p>The result contains names only, never a literal of the query. Python and the kernel do the
 * same; all three pass the cases of contracts/shared/node_details.yaml.
 */
final class NodeDetail {
  private static final int MAX_METADATA = 64;
  private static final int MAX_LISTS = 4;
  private static final String CACHED_TABLE = "Scan In-memory table ";

  /** Keys of a write's text that its target follows. */
  private static final String[] TARGET_KEYS = {
    "table=", "dbtable -> ", "dbtable=", "path=", "path -> "
  };

  private NodeDetail() {}

  /**
   * Returns what identifies a node, at most {@link NodeDetails#MOST_CHARS} characters, or an empty
   * text if nothing does.
   *
   * @param nodeName {@code SparkPlanInfo.nodeName}
   * @param simpleString {@code SparkPlanInfo.simpleString}; its beginning is read
   * @param location the entry {@code Location} of {@code SparkPlanInfo.metadata}, or empty
   */
  static String of(String nodeName, String simpleString, String location) {
    String name = beginning(nodeName).trim();
    String detail = detail(name, beginning(simpleString), beginning(location));
    if (detail.length() <= NodeDetails.MOST_CHARS) {
      return detail;
    }
    String scrubbed = SecretScrubber.scrubQuery(detail);
    return scrubbed.substring(0, Math.min(scrubbed.length(), NodeDetails.MOST_CHARS));
  }

  /** Returns the location in the Scala map {@code SparkPlanInfo.metadata}, or an empty text. */
  static String location(Object planInfo) {
    Object metadata = ScalaAccess.get(planInfo, "metadata");
    for (Object entry : ScalaAccess.list(metadata, MAX_METADATA)) {
      if (entry instanceof Tuple2 && "Location".equals(((Tuple2<?, ?>) entry)._1())) {
        return String.valueOf(((Tuple2<?, ?>) entry)._2());
      }
    }
    return "";
  }

  private static String beginning(String text) {
    return text.substring(0, Math.min(text.length(), NodeDetails.MOST_TEXT_CHARS));
  }

  private static String detail(String name, String text, String location) {
    String kind = until(name, " ");
    if (kind.equals("Execute") || NodeDetails.WRITE_NODES.contains(kind)) {
      boolean writes = NodeDetails.WRITE_NODES.stream().anyMatch(name::contains);
      return writes ? write(name, text) : "";
    }
    if (NodeDetails.NODES_WITHOUT_DETAIL.contains(name)) {
      return "";
    }
    if (kind.contains("Scan")) {
      return scan(name, text, location);
    }
    if (kind.contains("Exchange")) {
      return kind.contains("Broadcast") ? "" : exchange(text);
    }
    if (kind.contains("Join") || kind.equals("CartesianProduct")) {
      return join(text);
    }
    return NodeDetails.FUNCTION_NODES.contains(kind) ? function(text) : keys(kind, text);
  }

  private static String keys(String kind, String text) {
    if (kind.contains("Aggregate")) {
      return columns(bracketAfter(text, "keys="));
    }
    switch (kind) {
      case "TakeOrderedAndProject":
        return columns(bracketAfter(text, "orderBy="));
      case "Window":
        List<String> lists = lists(text);
        return lists.size() > 1 ? columns(lists.get(1)) : "";
      case "Sort":
      case "WindowGroupLimit":
        List<String> first = lists(text);
        return first.isEmpty() ? "" : columns(first.get(0));
      default:
        return "";
    }
  }

  private static String scan(String name, String text, String location) {
    if (name.startsWith(CACHED_TABLE)) {
      return table(name.substring(CACHED_TABLE.length()));
    }
    String[] words = name.split("\\s+");
    if (words.length > 1 && words[1].startsWith("JDBCRelation(")) {
      String relation = until(name.substring(name.indexOf('(') + 1), ")");
      return (isPlainTable(relation) ? table(relation) : "query") + " jdbc";
    }
    String format = words.length > 1 ? words[1] : "";
    String target = words.length > 2 ? words[2] : "";
    if (words.length == 2 && !words[0].equals("Scan")) { // BatchScan db.table
      target = format;
      format = "";
    }
    if (target.isEmpty()) {
      target = firstPath(location.isEmpty() ? after(text, "Location: ") : location);
    }
    if (target.isEmpty() && text.contains(" class ")) {
      target = className(after(text, " class "));
    }
    return withFormat(place(target), format);
  }

  private static String write(String name, String text) {
    String[] words = name.split("\\s+");
    String rest = text.substring(Math.min(name.length(), text.length())).trim();
    List<String> items = items(rest);
    String format = "";
    for (int i = 0; i < items.size() && words[0].equals("Execute") && format.isEmpty(); i++) {
      String item = items.get(i);
      format = isAsciiWord(item, false) && !NodeDetails.NO_FORMATS.contains(item) ? item : "";
    }
    return withFormat(
        written(words, rest, items), format.isEmpty() ? value(rest, "format=") : format);
  }

  private static String written(String[] words, String rest, List<String> items) {
    String quoted = quotedTable(rest);
    if (!quoted.isEmpty()) {
      return table(quoted);
    }
    for (String key : TARGET_KEYS) {
      String found = value(rest, key);
      if (!found.isEmpty()) {
        return place(found);
      }
    }
    if (words.length > 1 && !words[0].equals("Execute")) {
      return place(words[1]);
    }
    for (String item : items) {
      if (item.indexOf('/') >= 0 && item.indexOf('$') < 0) {
        return path(item);
      }
    }
    String writer = after(rest, "writer: ");
    return className(writer.isEmpty() ? items.get(items.size() - 1) : writer);
  }

  private static String exchange(String text) {
    int first = Integer.MAX_VALUE;
    String kind = "";
    for (String each : NodeDetails.PARTITIONINGS) {
      int found = text.indexOf(each);
      if (found >= 0 && found < first) {
        first = found;
        kind = each;
      }
    }
    String keys = kind.isEmpty() ? "" : columns(bracket(text, first + kind.length()));
    return (kind + " " + keys).trim();
  }

  private static String join(String text) {
    List<String> lists = lists(text);
    return (joinType(text) + " " + (lists.isEmpty() ? "" : columns(lists.get(0)))).trim();
  }

  private static String joinType(String text) {
    int start = 0;
    for (int i = 0; i <= text.length(); i++) {
      if (i == text.length() || !isAsciiLetterOrDigit(text.charAt(i))) {
        String word = text.substring(start, i);
        if (NodeDetails.JOIN_TYPES.contains(word)) {
          return word;
        }
        start = i + 1;
      }
    }
    return "";
  }

  private static String function(String text) {
    String rest = after(text, " ");
    if (rest.startsWith("[")) {
      String following = rest.substring(bracket(rest, 0).length());
      String call = following.substring(Math.min(2, following.length()));
      rest = functionName(call).isEmpty() ? rest.substring(1) : call;
    }
    return functionName(rest);
  }

  /** Returns the name before a bracket at the beginning of a text, or an empty text. */
  private static String functionName(String text) {
    int end = 0;
    while (end < text.length() && isColumnChar(text.charAt(end))) {
      end++;
    }
    boolean called = end > 0 && end < text.length() && text.charAt(end) == '(';
    return called && !isDigit(text.charAt(0)) ? text.substring(0, end) : "";
  }

  /** Returns the columns that a text names, each once: the words before {@code #} and an id. */
  private static String columns(String text) {
    Set<String> names = new LinkedHashSet<>();
    int mark = text.indexOf('#');
    while (mark >= 0 && names.size() < NodeDetails.MOST_COLUMNS) {
      int start = mark;
      while (start > 0 && isColumnChar(text.charAt(start - 1))) {
        start--;
      }
      boolean hasId = mark + 1 < text.length() && isDigit(text.charAt(mark + 1));
      if (hasId && start < mark) {
        names.add(text.substring(start, mark));
      }
      mark = text.indexOf('#', mark + 1);
    }
    return String.join(", ", names);
  }

  // ---- brackets and lists

  /** Returns the outermost lists in square brackets. */
  private static List<String> lists(String text) {
    List<String> found = new ArrayList<>();
    int at = text.indexOf('[');
    while (at >= 0 && found.size() < MAX_LISTS) {
      String list = bracket(text, at);
      found.add(list);
      at = text.indexOf('[', at + list.length());
    }
    return found;
  }

  private static String bracketAfter(String text, String key) {
    int at = text.indexOf(key);
    return at < 0 ? "" : bracket(text, at + key.length());
  }

  /** Returns the bracket that opens at {@code at} up to its end; empty if none opens there. */
  private static String bracket(String text, int at) {
    int depth = 0;
    for (int i = at; i < text.length(); i++) {
      depth += depthChange(text.charAt(i));
      if (depth <= 0) {
        return i > at ? text.substring(at, i + 1) : "";
      }
    }
    return text.substring(Math.min(at, text.length()));
  }

  /** Returns the parts between the commas that are outside of brackets. */
  private static List<String> items(String text) {
    List<String> items = new ArrayList<>();
    int depth = 0;
    int start = 0;
    for (int i = 0; i < text.length(); i++) {
      depth += depthChange(text.charAt(i));
      if (text.charAt(i) == ',' && depth <= 0) {
        items.add(text.substring(start, i).trim());
        start = i + 1;
      }
    }
    items.add(text.substring(start).trim());
    return items;
  }

  private static int depthChange(char c) {
    return c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
  }

  // ---- names of tables, paths and classes

  private static String place(String target) {
    return target.indexOf('/') >= 0 ? path(target) : table(target);
  }

  /** Returns the last two folders of a path, without partitions and without files of Spark. */
  private static String path(String path) {
    List<String> parts = new ArrayList<>();
    for (String part : path.split("/")) {
      String name = part.substring(part.lastIndexOf('@') + 1);
      if (name.indexOf('=') >= 0) {
        break;
      }
      if (!part.isEmpty() && !part.endsWith(":")) {
        parts.add(name);
      }
    }
    if (!parts.isEmpty() && parts.get(parts.size() - 1).startsWith("part-")) {
      parts.remove(parts.size() - 1);
    }
    return String.join("/", parts.subList(Math.max(0, parts.size() - 2), parts.size()));
  }

  private static String firstPath(String location) {
    String first = until(after(location, "["), ",]");
    return first.endsWith("...") ? first.substring(0, first.length() - 3) : first;
  }

  /** Returns the last two parts of a table's name, without quotes. */
  private static String table(String name) {
    String bare = name.replace("`", "").replace("\"", "");
    int last = bare.lastIndexOf('.');
    return bare.substring((last < 0 ? -1 : bare.lastIndexOf('.', last - 1)) + 1);
  }

  /** Returns the first name of at least two parts in backticks, or an empty text. */
  private static String quotedTable(String text) {
    for (int start = text.indexOf('`'); start >= 0; start = text.indexOf('`', start + 1)) {
      int end = endOfQuoted(text, start);
      int parts = 0;
      int at = end;
      while (at > 0 && text.startsWith(".`", at)) {
        int next = endOfQuoted(text, at + 1);
        if (next < 0) {
          break;
        }
        at = next;
        parts++;
      }
      if (parts > 0) {
        return text.substring(start, at);
      }
    }
    return "";
  }

  /** Returns the index after a name in backticks of 1 to 200 characters, or -1. */
  private static int endOfQuoted(String text, int start) {
    int end = text.indexOf('`', start + 1);
    return end > start + 1 && end - start - 1 <= 200 ? end + 1 : -1;
  }

  private static String className(String name) {
    String bare = until(name, "$@, ])");
    return bare.substring(bare.lastIndexOf('.') + 1);
  }

  private static String withFormat(String target, String format) {
    if (target.isEmpty() || !isAsciiWord(format, true)) {
      return target;
    }
    return target + " " + format.toLowerCase(Locale.ROOT);
  }

  // ---- texts

  /** Returns what follows a key, up to a comma, bracket or blank; empty without the key. */
  private static String value(String text, String key) {
    return until(after(text, key), ",])} ");
  }

  private static String after(String text, String key) {
    int at = text.indexOf(key);
    return at < 0 ? "" : text.substring(at + key.length());
  }

  /** Returns the text before the first of the given characters. */
  private static String until(String text, String ends) {
    int end = 0;
    while (end < text.length() && ends.indexOf(text.charAt(end)) < 0) {
      end++;
    }
    return text.substring(0, end);
  }

  private static boolean isPlainTable(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (!isColumnChar(text.charAt(i)) && ".$`\"-".indexOf(text.charAt(i)) < 0) {
        return false;
      }
    }
    return !text.isEmpty();
  }

  private static boolean isAsciiWord(String text, boolean digits) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (!isAsciiLetterOrDigit(c) || !digits && isDigit(c)) {
        return false;
      }
    }
    return !text.isEmpty();
  }

  private static boolean isColumnChar(char c) {
    return isAsciiLetterOrDigit(c) || c == '_';
  }

  private static boolean isAsciiLetterOrDigit(char c) {
    return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c);
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }
}
