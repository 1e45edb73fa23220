package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.facts.Application;

/**
 * Decides whether a signal with a valid signature may be obeyed: for this run, not expired, and
 * newer than the last one.
 */
final class SignalChecks {
  static final long MAX_LIFE_MS = 120_000;
  static final long MAX_SKEW_MS = 60_000;

  private final Application application;
  private long lastGeneration = -1;

  SignalChecks(Application application) {
    this.application = application;
  }

  /**
   * Returns why the signal is refused, or null if it is valid; the generation of a valid signal is
   * then used.
   */
  SignalResult check(Signal signal, long nowMs) {
    SignalResult refusal = identity(signal);
    refusal = refusal == null ? time(signal, nowMs) : refusal;
    if (refusal == null && signal.getGeneration() <= lastGeneration) {
      refusal =
          SignalResult.refused(
              "generation "
                  + signal.getGeneration()
                  + " is not newer than the last one, "
                  + lastGeneration);
    }
    if (refusal == null) {
      lastGeneration = signal.getGeneration();
    }
    return refusal;
  }

  private SignalResult identity(Signal signal) {
    if (!signal.getAppId().equals(application.id)) {
      return SignalResult.refused("the signal is for another application, " + signal.getAppId());
    }
    if (!signal.getCluster().isEmpty() && !signal.getCluster().equals(application.cluster)) {
      return SignalResult.refused("the signal is for another cluster, " + signal.getCluster());
    }
    if (signal.getAppAttempt() != application.attempt) {
      return SignalResult.refused("the signal is for another attempt, " + signal.getAppAttempt());
    }
    if (signal.getAppStartMs() != application.startMs) {
      return SignalResult.refused(
          "the signal is for another run, which started at " + signal.getAppStartMs());
    }
    return null;
  }

  private static SignalResult time(Signal signal, long nowMs) {
    long life = signal.getExpiresMs() - signal.getIssuedMs();
    if (nowMs >= signal.getExpiresMs()) {
      return new SignalResult(
          "expired", "the signal expired " + (nowMs - signal.getExpiresMs()) + " ms ago");
    }
    if (life <= 0 || life > MAX_LIFE_MS) {
      return SignalResult.refused(
          "a signal is valid for at most " + MAX_LIFE_MS + " ms, not " + life + " ms");
    }
    if (signal.getIssuedMs() > nowMs + MAX_SKEW_MS) {
      return SignalResult.refused(
          "the signal was issued " + (signal.getIssuedMs() - nowMs) + " ms in the future");
    }
    return null;
  }
}
