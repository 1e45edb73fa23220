package io.sparkfuse.spark.hook;

/**
 * The decision of one gate: pass, refuse the signal with the outcome for its receipt, or only warn
 * instead of stopping.
 */
final class GateResult {
  static final GateResult PASS = new GateResult(null, "", false);

  /** The outcome of the receipt; null if the gate passes. */
  final String outcome;

  final String reason;
  final boolean warnInstead;

  private GateResult(String outcome, String reason, boolean warnInstead) {
    this.outcome = outcome;
    this.reason = reason;
    this.warnInstead = warnInstead;
  }

  static GateResult refuse(String outcome, String reason) {
    return new GateResult(outcome, reason, false);
  }

  static GateResult refused(String reason) {
    return refuse("refused", reason);
  }

  static GateResult warnInstead(String reason) {
    return new GateResult(null, reason, true);
  }

  boolean passes() {
    return outcome == null;
  }
}
