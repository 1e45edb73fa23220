package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.FrameworkFrames;
import io.sparkfuse.spark.facts.SecretScrubber;
import java.util.regex.Pattern;

/**
 * Finds the line of the user's code in Spark's call sites.
 *
 * <p>Python and the kernel do the same; all three pass the cases of
 * contracts/shared/framework_frames.yaml, which also describes the steps.
 */
final class CallSite {
  private static final Pattern LAMBDA = Pattern.compile("\\$anonfun\\$([A-Za-z0-9_]+)\\$[0-9]+");

  private CallSite() {}

  /**
   * Returns the user's line, such as {@code collect at orders.py:44}, or null if the call sites
   * show no user code.
   *
   * @param shortForm the name of a stage or the description of a SQL execution; may be null
   * @param longForm Spark's {@code details}, a stack with one frame a line; may be null
   */
  static String of(String shortForm, String longForm) {
    String found = shortForm == null ? null : ofShortForm(shortForm);
    if (found == null && longForm != null) {
      int end = Math.min(longForm.length(), FrameworkFrames.MOST_LONG_FORM_CHARS);
      found = ofLongForm(longForm.substring(0, end));
    }
    return found == null ? null : SecretScrubber.shortened(found, FrameworkFrames.MOST_CHARS);
  }

  private static String ofShortForm(String text) {
    String site = text.length() > FrameworkFrames.MOST_LONG_FORM_CHARS ? "" : text.trim();
    int blank = firstBlank(site);
    if (blank <= 0 || !site.startsWith(" at ", blank) || site.indexOf('\n') >= 0) {
      return null;
    }
    return written(site.substring(0, blank), site.substring(blank + 4));
  }

  private static String ofLongForm(String text) {
    int start = 0;
    for (int frames = 0; start < text.length() && frames < FrameworkFrames.MOST_FRAMES; frames++) {
      int end = text.indexOf('\n', start);
      end = end < 0 ? text.length() : end;
      String site = ofFrame(text.substring(start, end).trim());
      if (site != null) {
        return site;
      }
      start = end + 1;
    }
    return null;
  }

  private static String ofFrame(String frame) {
    int open = frame.indexOf('(');
    int blank = firstBlank(frame);
    if (open <= 0 || !frame.endsWith(")") || blank >= 0 && blank < open) {
      return null;
    }
    String name = frame.substring(frame.lastIndexOf('/', open) + 1, open);
    if (isFramework(name)) {
      return null;
    }
    String method = name.substring(name.lastIndexOf('.') + 1);
    return written(method, frame.substring(open + 1, frame.length() - 1));
  }

  private static boolean isFramework(String name) {
    return FrameworkFrames.PREFIXES.stream().anyMatch(name::startsWith)
        && FrameworkFrames.EXCEPTIONS.stream().noneMatch(name::startsWith);
  }

  /** Returns {@code method at file:line}, or null if the location is not one of the user's. */
  private static String written(String method, String location) {
    int colon = location.lastIndexOf(':');
    if (colon <= 0 || !isLine(location, colon + 1)) {
      return null;
    }
    int folder = Math.max(location.lastIndexOf('/', colon), location.lastIndexOf('\\', colon));
    String place = location.substring(folder + 1);
    if (FrameworkFrames.FILES.contains(place.substring(0, place.lastIndexOf(':')))) {
      return null;
    }
    String name = LAMBDA.matcher(method).replaceAll("$1");
    boolean known = !name.isEmpty() && name.chars().noneMatch(c -> "$<>".indexOf(c) >= 0);
    return known ? name + " at " + place : place;
  }

  /** Returns whether a text ends with a line number other than 0, which begins at {@code start}. */
  private static boolean isLine(String text, int start) {
    boolean zero = true;
    for (int i = start; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c < '0' || c > '9') {
        return false;
      }
      zero &= c == '0' || i < text.length() - 9;
    }
    return !zero;
  }

  private static int firstBlank(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (Character.isWhitespace(text.charAt(i))) {
        return i;
      }
    }
    return -1;
  }
}
