package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.ExecutorExitCodes;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds the exit code in Spark's reason for a lost executor.
 *
 * <p>No event contains the code as a number, and each cluster manager words the reason differently.
 * The pattern and its cases are in contracts/shared/executor_exit_codes.yaml.
 */
final class ExitCodes {
  private static final Pattern CODE = Pattern.compile(ExecutorExitCodes.PATTERN);

  private ExitCodes() {}

  /** Returns the first exit code in the reason, or null. */
  static Integer in(String reason) {
    if (reason == null) {
      return null;
    }
    int end = Math.min(reason.length(), ExecutorExitCodes.MOST_CHARS);
    Matcher found = CODE.matcher(reason).region(0, end);
    return found.find() ? Integer.valueOf(found.group(1)) : null;
  }
}
