package io.sparkfuse.spark.hook;

/** What became of a signal: the outcome of its receipt, and why in a sentence. */
final class Verdict {
  final String outcome;
  final String reason;
  final int killedTasks;

  Verdict(String outcome, String reason) {
    this(outcome, reason, 0);
  }

  Verdict(String outcome, String reason, int killedTasks) {
    this.outcome = outcome;
    this.reason = reason;
    this.killedTasks = killedTasks;
  }

  static Verdict refused(String reason) {
    return new Verdict("refused", reason);
  }
}
