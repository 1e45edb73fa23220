package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.facts.Application;

/**
 * Decides whether a signal whose signature is right may be obeyed now: only this run's own, in
 * time, and newer than the last.
 */
final class SignalChecks {
  static final long MAX_LIFE_MS = 120_000;
  static final long MAX_SKEW_MS = 60_000;

  private final Application application;
  private long lastGeneration = -1;

  SignalChecks(Application application) {
    this.application = application;
  }

  /** Why the signal is void, or null when it is good; a good one's generation is used up. */
  SignalResult check(Signal signal, long nowMs) {
    SignalResult refusal = identity(signal);
    refusal = refusal == null ? time(signal, nowMs) : refusal;
    if (refusal == null && signal.getGeneration() <= lastGeneration) {
      refusal =
          SignalResult.refused(
              "generation "
                  + signal.getGeneration()
                  + " is not newer than the last seen, "
                  + lastGeneration);
    }
    if (refusal == null) {
      lastGeneration = signal.getGeneration();
    }
    return refusal;
  }

  private SignalResult identity(Signal signal) {
    if (!signal.getAppId().equals(application.id)) {
      return SignalResult.refused("it is for another application, " + signal.getAppId());
    }
    if (!signal.getCluster().isEmpty() && !signal.getCluster().equals(application.cluster)) {
      return SignalResult.refused("it is for another cluster, " + signal.getCluster());
    }
    if (signal.getAppAttempt() != application.attempt) {
      return SignalResult.refused("it is for another attempt, " + signal.getAppAttempt());
    }
    if (signal.getAppStartMs() != application.startMs) {
      return SignalResult.refused("it is for another run, started at " + signal.getAppStartMs());
    }
    return null;
  }

  private static SignalResult time(Signal signal, long nowMs) {
    long life = signal.getExpiresMs() - signal.getIssuedMs();
    if (nowMs >= signal.getExpiresMs()) {
      return new SignalResult(
          "expired", "it expired " + (nowMs - signal.getExpiresMs()) + " ms ago");
    }
    if (life <= 0 || life > MAX_LIFE_MS) {
      return SignalResult.refused("it may live " + MAX_LIFE_MS + " ms at most, not " + life);
    }
    if (signal.getIssuedMs() > nowMs + MAX_SKEW_MS) {
      return SignalResult.refused(
          "it was issued " + (signal.getIssuedMs() - nowMs) + " ms in the future");
    }
    return null;
  }
}
