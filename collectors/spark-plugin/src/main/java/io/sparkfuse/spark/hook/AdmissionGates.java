package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;

/** Gates that decide whether a signal is a valid new signal for this run. */
final class AdmissionGates {
  static final String TOPIC = "signals";
  static final long MAX_LIFE_MS = 120_000;
  static final long MAX_SKEW_MS = 30_000;

  private AdmissionGates() {}

  /** Refuses a signal that no valid key for its purpose has signed. */
  static GateResult signature(GateContext context) {
    String purpose = purpose(context.signal);
    if (!purpose.equals(context.verifiedPurpose)) {
      return GateResult.refused("no key for " + purpose + " has signed the signal");
    }
    String fault = context.keys.invalid(context.keyId, context.nowMs, context.controls.revoked);
    return fault == null ? GateResult.PASS : GateResult.refused(fault);
  }

  /** Returns the purpose that a signal's key must have: a switch key cannot stop a job. */
  static String purpose(Signal signal) {
    return Actions.isSwitch(signal.getAction()) ? PublicKeys.SWITCH : PublicKeys.ACT;
  }

  /** Refuses a signal for another application, cluster, attempt or run. */
  static GateResult identity(GateContext context) {
    Signal signal = context.signal;
    if (!signal.getAppId().equals(context.application.id)) {
      return GateResult.refused("the signal is for another application, " + signal.getAppId());
    }
    if (!signal.getCluster().equals(context.application.cluster)) {
      return GateResult.refused(
          "the signal is for cluster '"
              + signal.getCluster()
              + "', and this application is in cluster '"
              + context.application.cluster
              + "'");
    }
    if (signal.getAppAttempt() != context.application.attempt) {
      return GateResult.refused("the signal is for another attempt, " + signal.getAppAttempt());
    }
    if (signal.getAppStartMs() != context.application.startMs) {
      return GateResult.refused(
          "the signal is for another run, which started at " + signal.getAppStartMs());
    }
    return GateResult.PASS;
  }

  /**
   * Refuses a record whose timestamp was not set by the broker, because its writer could choose any
   * timestamp.
   */
  static GateResult timestamp(GateContext context) {
    return context.record.appended
        ? GateResult.PASS
        : GateResult.refused("the topic signals does not use message.timestamp.type=LogAppendTime");
  }

  /** Refuses a signal from a controller whose clock differs too much from the broker's. */
  static GateResult clock(GateContext context) {
    long skewMs = context.signal.getIssuedMs() - context.record.timestampMs;
    return Math.abs(skewMs) <= MAX_SKEW_MS
        ? GateResult.PASS
        : GateResult.refused(
            "the controller's clock differs by " + skewMs + " ms from the broker's");
  }

  /** Refuses an expired signal, by the broker's time, and a signal that is valid for too long. */
  static GateResult lifetime(GateContext context) {
    long lifeMs = context.signal.getExpiresMs() - context.signal.getIssuedMs();
    if (lifeMs <= 0 || lifeMs > MAX_LIFE_MS) {
      return GateResult.refused(
          "a signal is valid for at most " + MAX_LIFE_MS + " ms, not " + lifeMs + " ms");
    }
    long overMs = context.nowMs - context.record.timestampMs - lifeMs;
    return overMs < 0
        ? GateResult.PASS
        : GateResult.refuse("expired", "the signal expired " + overMs + " ms ago");
  }

  /** Refuses a signal of a controller that a newer controller has replaced. */
  static GateResult epoch(GateContext context) {
    long highest = context.memory.epoch;
    return context.signal.getEpoch() >= highest
        ? GateResult.PASS
        : GateResult.refused(
            "epoch " + context.signal.getEpoch() + " is older than the current one, " + highest);
  }

  /** Refuses a signal that was already received, or that is older than one already received. */
  static GateResult generation(GateContext context) {
    long last = context.memory.generation;
    return context.signal.getGeneration() > last
        ? GateResult.PASS
        : GateResult.refused(
            "generation "
                + context.signal.getGeneration()
                + " is not newer than the last one, "
                + last);
  }
}
