package io.sparkfuse.spark.listener;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds the exit code in Spark's reason for a lost executor.
 *
 * <p>No event has the code as a number, and each cluster manager has its own text: "Command exited
 * with code 1" (standalone), "Exit status: 143" (YARN), "exited with exit code 137(SIGKILL,
 * possible container OOM)" (Kubernetes), "Unknown executor exit code (137)" (Spark itself).
 */
final class ExitCodes {
  /** The code is near the beginning of the reason; diagnostics of any length follow. */
  private static final int MAX_CHARS = 4_096;

  private static final Pattern CODE =
      Pattern.compile(
          "(?i)\\bexit(?:ed)?(?: +with)?(?: +exit)?[ _]?(?:code|status|value)"
              + "(?: +is)? *[:=(]? *(-?[0-9]{1,9})\\b");

  private ExitCodes() {}

  /** Returns the first exit code in the reason, or null. */
  static Integer in(String reason) {
    if (reason == null) {
      return null;
    }
    int end = Math.min(reason.length(), MAX_CHARS);
    Matcher found = CODE.matcher(reason).region(0, end);
    return found.find() ? Integer.valueOf(found.group(1)) : null;
  }
}
