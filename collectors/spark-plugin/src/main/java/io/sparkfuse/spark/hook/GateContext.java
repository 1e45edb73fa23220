package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;

/** Everything that the decision about one signal depends on. Immutable after it is built. */
final class GateContext {
  Application application;
  PublicKeys keys;
  SignalRecord record;

  /** The key that has signed the signal. */
  String keyId;

  /** The purpose for which the signature is valid; expiry and revocation are checked separately. */
  String verifiedPurpose;

  Signal signal;

  /** The broker's time now, in ms since 1970. */
  long nowMs;

  /** What the hook has accepted and done before this signal. */
  HookMemory.View memory;

  /** The signal's policy, or null if its hash is not known. */
  Policy policy;

  FuseMode mode;

  /** Whether a hold in the job's settings or code prevents every stop. */
  boolean ownHold;

  ControlSnapshot controls;

  /** Time from the beginning of reading the controls until the counters were read, in ms. */
  long sinceControlsMs;

  Observation observed;

  /** Why the stop is only a warning; null if it is not. */
  String warnReason;

  boolean isSwitch() {
    return Actions.isSwitch(signal.getAction());
  }

  boolean isProbe() {
    return signal.getProbe();
  }

  /** Returns whether the signal, or the act that a probe asks about, stops work. */
  boolean stops() {
    return warnReason == null && Actions.STOPS.contains(signal.getAction());
  }

  /** Returns whether work is to be stopped now. */
  boolean stopsNow() {
    return stops() && !isProbe();
  }

  /** Returns the same context with a warning in place of the stop. */
  GateContext asWarning(String reason) {
    GateContext copy = new GateContext();
    copy.application = application;
    copy.keys = keys;
    copy.record = record;
    copy.keyId = keyId;
    copy.verifiedPurpose = verifiedPurpose;
    copy.signal = signal;
    copy.nowMs = nowMs;
    copy.memory = memory;
    copy.policy = policy;
    copy.mode = mode;
    copy.ownHold = ownHold;
    copy.controls = controls;
    copy.sinceControlsMs = sinceControlsMs;
    copy.observed = observed;
    copy.warnReason = reason;
    return copy;
  }
}
