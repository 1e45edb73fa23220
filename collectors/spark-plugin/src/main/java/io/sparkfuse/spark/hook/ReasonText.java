package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;

/**
 * The sentence that the owner of the job reads in log and exception: rule, evidence, where to look,
 * how to override.
 *
 * <p>{@code sparkfuse.CircuitBreaker} recognises it by its mark and reads its parts, also where it
 * cannot reach this JVM: change both together (cli/sparkfuse/hook.py).
 */
final class ReasonText {
  static final String MARK = "[SPARKFUSE_FUSE_BLOWN]";
  static final String STANDARD_OVERRIDE =
      "set spark.sparkfuse.fuse.hold=true, or spark.sparkfuse.fuse=off, and run again";
  private static final int MAX_CHARS = 500;

  private ReasonText() {}

  static String of(Signal signal) {
    StringBuilder text = new StringBuilder(MARK).append(' ').append(deed(signal));
    text.append(". Rule: ").append(clean(signal.getRule()));
    text.append(". Evidence: ").append(withoutStop(clean(signal.getEvidence())));
    if (!signal.getDashboardUrl().isEmpty()) {
      text.append(". Look at: ").append(clean(signal.getDashboardUrl()));
    } else if (!signal.getFindingId().isEmpty()) {
      text.append(". Look at: sparkfuse finding ").append(clean(signal.getFindingId()));
    }
    text.append(". To override: ").append(withoutStop(override(signal)));
    return text.append(". (signal ").append(clean(signal.getSignalId())).append(')').toString();
  }

  static String override(Signal signal) {
    String hint = clean(signal.getOverrideHint());
    return hint.isEmpty() ? STANDARD_OVERRIDE : hint;
  }

  /** One line of bounded length: a log must not be forged by what a message says. */
  static String clean(String text) {
    String line = text.replaceAll("\\p{C}+", " ").trim();
    return line.length() > MAX_CHARS ? line.substring(0, MAX_CHARS) + "..." : line;
  }

  private static String withoutStop(String sentence) {
    return sentence.endsWith(".") ? sentence.substring(0, sentence.length() - 1) : sentence;
  }

  private static String deed(Signal signal) {
    switch (signal.getAction()) {
      case "cancel_stage":
        return "Sparkfuse stopped stage " + signal.getStageId();
      case "cancel_jobs":
        return "Sparkfuse stopped all jobs of this application";
      case "stop_application":
        return "Sparkfuse stopped this application";
      default:
        return "Sparkfuse warns of this application";
    }
  }
}
