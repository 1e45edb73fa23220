package io.sparkfuse.spark.hook;

/** The result of a signal: the outcome in its receipt, and the reason in a sentence. */
final class SignalResult {
  final String outcome;
  final String reason;
  final int killedTasks;

  SignalResult(String outcome, String reason) {
    this(outcome, reason, 0);
  }

  SignalResult(String outcome, String reason, int killedTasks) {
    this.outcome = outcome;
    this.reason = reason;
    this.killedTasks = killedTasks;
  }

  static SignalResult refused(String reason) {
    return new SignalResult("refused", reason);
  }
}
