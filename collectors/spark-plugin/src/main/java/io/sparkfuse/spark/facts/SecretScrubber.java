package io.sparkfuse.spark.facts;

import io.sparkfuse.contracts.Scrubbing;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Removes obvious secrets from free text and limits it to {@link #MAX_BYTES} of UTF-8.
 *
 * <p>This is a first pass, so that secrets do not leave the JVM; consumers scrub again. The
 * patterns are in contracts/shared/scrubbing.yaml.
 */
public final class SecretScrubber {
  public static final int MAX_BYTES = Scrubbing.MOST_BYTES;

  /** Texts are cut to this length before they are queued, so that queues stay small. */
  public static final int MAX_CHARS = Scrubbing.MOST_CHARS;

  private static final List<String> OF_COMPLETE = Arrays.asList("all");
  private static final List<String> OF_CUT = Arrays.asList("all", "cut");
  private static final List<String> OF_QUERY = Arrays.asList("query");

  private static final List<Step> STEPS =
      Scrubbing.STEPS.stream().map(Step::new).collect(Collectors.toList());

  private SecretScrubber() {}

  /** A step of contracts/shared/scrubbing.yaml with its compiled pattern. */
  private static final class Step {
    private final String texts;
    private final Pattern pattern;
    private final String replacement;

    Step(Scrubbing.Step step) {
      texts = step.texts;
      pattern = Pattern.compile(step.pattern);
      replacement = step.replacement;
    }
  }

  /** Applies the steps for the given kinds of text, in their order. */
  private static String applied(List<String> texts, String text) {
    String out = text;
    for (Step step : STEPS) {
      if (texts.contains(step.texts)) {
        out = step.pattern.matcher(out).replaceAll(step.replacement);
      }
    }
    return out;
  }

  /**
   * Cuts a text to its maximum length in a queue, and drops most stack frames first; returns null
   * for null.
   */
  public static String cut(String text) {
    if (text == null || text.length() <= MAX_BYTES) {
      return text;
    }
    String condensed = condensed(text);
    return condensed.length() <= MAX_CHARS ? condensed : condensed.substring(0, MAX_CHARS);
  }

  /**
   * Returns the text without most stack frames, so that all causes fit into the limit. Spark writes
   * the outermost exception first and the root cause last, with some fifty frames after each.
   */
  private static String condensed(String text) {
    int length = searched(text);
    StringBuilder kept = new StringBuilder(MAX_CHARS);
    int frames = 0;
    boolean runnerKept = false;
    boolean first = true;
    int end;
    for (int start = 0; start <= length; start = end + 1) {
      int found = text.indexOf('\n', start);
      end = found < 0 || found > length ? length : found;
      int bare = start;
      while (bare < end && (text.charAt(bare) == '\t' || text.charAt(bare) == ' ')) {
        bare++;
      }
      boolean indented = bare > start;
      if (indented && starts(text, "... ", bare, end)) { // "... 42 more"
        continue;
      }
      frames = indented && starts(text, "at ", bare, end) ? frames + 1 : 0;
      boolean namesRunner =
          frames > Scrubbing.FRAMES_KEPT
              && !runnerKept
              && text.substring(bare, end).contains(Scrubbing.FRAME_ALWAYS_KEPT);
      runnerKept = frames > 0 && (runnerKept || namesRunner);
      if (frames > Scrubbing.FRAMES_KEPT && !namesRunner) {
        continue;
      }
      if (!first) {
        kept.append('\n');
      }
      first = false;
      kept.append(text, start, end);
    }
    return kept.toString();
  }

  /**
   * Returns how many characters of a text are searched for secrets. The searched part ends at a
   * blank, because half a word could be a secret whose end is missing.
   */
  private static int searched(String text) {
    if (text.length() <= Scrubbing.MOST_SEARCHED) {
      return text.length();
    }
    int last = Scrubbing.MOST_SEARCHED - 1;
    int blank = Math.max(text.lastIndexOf(' ', last), text.lastIndexOf('\n', last));
    return blank > 0 ? blank : Scrubbing.MOST_SEARCHED;
  }

  private static boolean starts(String text, String word, int from, int end) {
    return from + word.length() <= end && text.startsWith(word, from);
  }

  /** Returns a free text (exception, reason, URL) without obvious secrets, limited in length. */
  public static String scrub(String text) {
    String searched = cut(text);
    return cap(applied(searched.length() == MAX_CHARS ? OF_CUT : OF_COMPLETE, searched));
  }

  /**
   * Scrubs SQL text: does the same as {@link #scrub}, and also removes quoted literals and numbers
   * that look like card numbers.
   *
   * <p>Names in double quotes are removed too, because Spark parses them as literals by default.
   * Use this method for plans and descriptions, not for failures.
   */
  public static String scrubQuery(String text) {
    return cap(applied(OF_QUERY, scrub(text))); // a mask is longer than an empty literal
  }

  /**
   * Returns the beginning of a text. If the text must be cut, it is scrubbed first, because a cut
   * can separate a secret from its name.
   */
  public static String shortened(String text, int maxChars) {
    if (text.length() <= maxChars) {
      return text;
    }
    String scrubbed = scrub(text);
    return scrubbed.substring(0, Math.min(scrubbed.length(), maxChars));
  }

  static String cap(String text) {
    if (text.length() * 3L <= MAX_BYTES) {
      return text;
    }
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (bytes.length <= MAX_BYTES) {
      return text;
    }
    int end = MAX_BYTES;
    while ((bytes[end] & 0xC0) == 0x80) { // not inside a character
      end--;
    }
    return new String(bytes, 0, end, StandardCharsets.UTF_8);
  }
}
