package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.FrameworkFrames;

/**
 * Finds the line of the user's code that started a query or a stage.
 *
 * <p>Python and the kernel find the same line. All three implementations pass the cases of
 * contracts/shared/framework_frames.yaml, which also describes the steps.
 */
final class CallSite {
  private static final int MAX_FRAME_CHARS = 1_000;
  private static final int MAX_SHORT_CHARS = 4_000;

  private CallSite() {}

  /**
   * Returns the user's line, such as {@code load_orders at orders.py:88}, or null if the call sites
   * show no user code.
   *
   * @param shortForm the name of a stage or the description of a query; may be null
   * @param longForm Spark's {@code details}, a stack trace with one frame per line; may be null
   */
  static String of(String shortForm, String longForm) {
    String found = longForm == null ? null : ofLongForm(longForm);
    found = found == null && shortForm != null ? ofShortForm(shortForm) : found;
    return found == null || found.length() > FrameworkFrames.MOST_CHARS ? null : found;
  }

  private static String ofLongForm(String text) {
    int start = 0;
    for (int frames = 0; start < text.length() && frames < FrameworkFrames.MOST_FRAMES; frames++) {
      int end = text.indexOf('\n', start);
      end = end < 0 ? text.length() : end;
      String frame = text.substring(start, Math.min(end, start + MAX_FRAME_CHARS)).trim();
      String site = ofFrame(frame);
      if (site != null) {
        return site;
      }
      start = end + 1;
    }
    return null;
  }

  private static String ofFrame(String frame) {
    int open = frame.indexOf('(');
    if (open < 0 || !frame.endsWith(")")) {
      return null;
    }
    String location = frame.substring(open + 1, frame.length() - 1);
    String name = frame.substring(0, open);
    int dot = name.lastIndexOf('.');
    int module = name.lastIndexOf('/', dot);
    boolean complete = dot > module + 1 && dot + 1 < name.length() && endsWithLine(location);
    if (!complete || isFramework(name.substring(module + 1))) {
      return null;
    }
    String function = function(name.substring(module + 1, dot), name.substring(dot + 1));
    return function.isEmpty() ? location : function + " at " + location;
  }

  private static boolean isFramework(String name) {
    for (String prefix : FrameworkFrames.PREFIXES) {
      if (name.startsWith(prefix)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns the method's name as the user wrote it. Returns the class name for a constructor, and
   * an empty text for code of the Scala shell.
   */
  private static String function(String type, String method) {
    if (type.startsWith("$line")) { // a class of the Scala shell
      return "";
    }
    String written = firstPart(method);
    if (!written.isEmpty() && !written.equals("new") && !written.startsWith("<")) {
      return written;
    }
    return firstPart(type.substring(type.lastIndexOf('.') + 1));
  }

  /** Returns the first part of a compiled name that comes from the user, not from the compiler. */
  private static String firstPart(String name) {
    for (String part : name.split("\\$")) {
      if (!part.isEmpty() && !part.equals("anonfun") && !part.equals("lambda")) {
        return part;
      }
    }
    return "";
  }

  /** Returns {@code action at file:line} if a short call site names a line of Python, else null. */
  private static String ofShortForm(String text) {
    int at = text.indexOf(" at ");
    boolean oneWord = at > 0 && text.indexOf(' ') == at && text.length() < MAX_SHORT_CHARS;
    if (!oneWord || !endsWithLine(text) || text.indexOf('\n') >= 0 || text.indexOf('\r') >= 0) {
      return null;
    }
    String path = text.substring(at + " at ".length());
    String location = path.substring(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
    String file = location.substring(0, location.lastIndexOf(':'));
    boolean shell = file.startsWith("<") && !file.equals("<unknown>") && !file.equals("<console>");
    boolean python = file.endsWith(".py") || file.startsWith("command-") || shell;
    return python && !path.contains("/pyspark/") ? text.substring(0, at) + " at " + location : null;
  }

  /** Returns whether a text ends with a colon and a line number that does not begin with 0. */
  private static boolean endsWithLine(String text) {
    int digits = text.length();
    while (digits > 0 && text.charAt(digits - 1) >= '0' && text.charAt(digits - 1) <= '9') {
      digits--;
    }
    boolean number = digits < text.length() && text.charAt(digits) != '0';
    return number && digits > 1 && text.charAt(digits - 1) == ':';
  }
}
