package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;

/**
 * The message in the log and in the exception of a stopped action: what happened, rule, evidence,
 * where to look, how to override.
 *
 * <p>{@code sparkfuse.CircuitBreaker} parses this message, even if it cannot reach this JVM, so
 * change both together (cli/sparkfuse/hook_errors.py).
 */
final class ReasonText {
  static final String MARK = "[SPARKFUSE_FUSE_BLOWN]";
  static final String DEFAULT_OVERRIDE =
      "set spark.sparkfuse.fuse.hold=true, or spark.sparkfuse.fuse=off, and run again";
  private static final int MAX_CHARS = 500;

  private ReasonText() {}

  static String of(Signal signal) {
    StringBuilder text = new StringBuilder(MARK).append(' ').append(whatHappened(signal));
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
    return hint.isEmpty() ? DEFAULT_OVERRIDE : hint;
  }

  /** Returns the text as one line of limited length, so that a signal cannot forge log lines. */
  static String clean(String text) {
    String line = text.replaceAll("\\p{C}+", " ").trim();
    return line.length() > MAX_CHARS ? line.substring(0, MAX_CHARS) + "..." : line;
  }

  private static String withoutStop(String sentence) {
    return sentence.endsWith(".") ? sentence.substring(0, sentence.length() - 1) : sentence;
  }

  private static String whatHappened(Signal signal) {
    switch (signal.getAction()) {
      case Actions.KILL_TASK:
        return "Sparkfuse killed task " + signal.getTaskId() + " of stage " + signal.getStageId();
      case Actions.CANCEL_QUERY:
        return signal.hasQueryId()
            ? "Sparkfuse cancelled query " + signal.getQueryId()
            : "Sparkfuse cancelled the query " + clean(signal.getJobTag());
      case Actions.CANCEL_STAGE:
        return "Sparkfuse stopped stage " + signal.getStageId();
      case Actions.CANCEL_JOBS:
        return "Sparkfuse stopped all jobs of this application";
      case Actions.STOP_APPLICATION:
        return "Sparkfuse stopped this application";
      default:
        return "Sparkfuse warning for this application";
    }
  }
}
