package io.sparkfuse.spark.blocks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The tag that the jobs of a block carry: {@code sparkfuse-block.ID.NAME} and its limits, such as
 * {@code .t60000.s1024}.
 *
 * <p>The tag contains the limits, so that a Connect client needs no other channel to the driver.
 */
final class BlockTag {
  /** Local property with the tags of all enclosing blocks, separated by commas. */
  static final String PROPERTY = "sparkfuse.block";

  private static final String JOB_TAGS = "spark.job.tags";
  private static final Pattern FORM =
      Pattern.compile(
          "sparkfuse-block\\.([0-9a-f]{8,32})\\.([A-Za-z0-9_-]{1,40})((?:\\.[tsrc]\\d{1,18})*)$");
  private static final Pattern LIMIT = Pattern.compile("\\.([tsrc])(\\d+)");

  /**
   * The whole tag. Spark 4 and Connect put the user and session before the client's part of the
   * tag.
   */
  final String key;

  final String name;
  final Map<Limit, Long> limits = new LinkedHashMap<>();

  private BlockTag(String key, Matcher found) {
    this.key = key;
    this.name = found.group(2);
    Matcher each = LIMIT.matcher(found.group(3));
    while (each.find()) {
      limits.put(Limit.of(each.group(1).charAt(0)), Long.parseLong(each.group(2)));
    }
  }

  /** Returns the tag of a block, or null if the text is not such a tag. */
  static BlockTag parse(String text) {
    Matcher found = FORM.matcher(text);
    return found.find() ? new BlockTag(text, found) : null;
  }

  /** Returns the tags of the blocks to which a job or stage with these properties belongs. */
  static List<BlockTag> of(Properties properties) {
    Map<String, BlockTag> tags = new LinkedHashMap<>();
    if (properties != null) {
      add(tags, properties.getProperty(PROPERTY));
      add(tags, properties.getProperty(JOB_TAGS));
    }
    return new ArrayList<>(tags.values());
  }

  private static void add(Map<String, BlockTag> tags, String texts) {
    if (texts == null || !texts.contains("sparkfuse-block.")) {
      return;
    }
    for (String text : texts.split(",")) {
      BlockTag tag = parse(text);
      if (tag != null) {
        tags.put(tag.key, tag);
      }
    }
  }
}
