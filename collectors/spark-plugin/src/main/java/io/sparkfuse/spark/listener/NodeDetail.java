package io.sparkfuse.spark.listener;

import java.util.HashMap;
import java.util.Map;
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

  private static final int MAX_METADATA = 64;

  private NodeDetail() {}

  /**
   * Returns the detail of a node, or an empty text if nothing identifies it.
   *
   * @param nodeName {@code SparkPlanInfo.nodeName}
   * @param simpleString {@code SparkPlanInfo.simpleString}
   * @param metadata the entries {@code Format} and {@code Location} of {@code
   *     SparkPlanInfo.metadata}, if the node has them
   */
  static String of(String nodeName, String simpleString, Map<String, String> metadata) {
    String name = PlanText.beginning(nodeName, MAX_PARSED_CHARS).trim();
    String text = PlanText.beginning(simpleString, MAX_PARSED_CHARS);
    String rest = (text.startsWith(name) ? text.substring(name.length()) : text).trim();
    return PlanText.beginning(detail(name, text, rest, metadata), MAX_CHARS);
  }

  /** Returns the metadata that {@link #of} uses, from the Scala map of a {@code SparkPlanInfo}. */
  static Map<String, String> metadata(Object node) {
    Map<String, String> used = new HashMap<>();
    for (Object entry : ScalaAccess.list(ScalaAccess.get(node, "metadata"), MAX_METADATA)) {
      if (entry instanceof Tuple2) {
        String key = String.valueOf(((Tuple2<?, ?>) entry)._1());
        if (key.equals("Format") || key.equals("Location")) {
          String value = String.valueOf(((Tuple2<?, ?>) entry)._2());
          used.put(key, PlanText.beginning(value, MAX_PARSED_CHARS));
        }
      }
    }
    return used;
  }

  private static String detail(
      String name, String text, String rest, Map<String, String> metadata) {
    if (name.startsWith("Execute ")) {
      return WriteDetail.command(name, rest);
    }
    if (WriteDetail.V2_WRITES.contains(PlanText.firstWord(name))) {
      return WriteDetail.v2Write(name, text);
    }
    if (name.contains("Aggregate")) {
      return KeyDetail.aggregate(text);
    }
    if (name.contains("Join")) {
      return KeyDetail.join(rest);
    }
    if (name.contains("Exchange")) {
      return name.startsWith("Broadcast") || name.startsWith("Reused")
          ? ""
          : KeyDetail.exchange(rest);
    }
    return PlanText.firstWord(name).endsWith("Scan") ? ScanDetail.of(name, metadata) : "";
  }
}
