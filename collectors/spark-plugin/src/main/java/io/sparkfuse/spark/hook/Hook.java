package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.contracts.SignedSignal;
import io.sparkfuse.spark.counters.StageRegistry;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.safety.CollectorProtection;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;
import java.util.Collections;
import java.util.Map;

/**
 * Verifies one signal at a time: signature, identity, time, generation, the owner's mode, and its
 * predicate with this JVM's counters. If a check fails, the hook writes a receipt and the job
 * continues.
 */
final class Hook {
  private static final Map<String, String> NOTHING = Collections.emptyMap();

  private static final String COLLECTOR_OFF = "collector_off";
  private static final String COLLECTOR_ON = "collector_on";

  private final Application application;
  private final PublicKeys keys;
  private final FuseState state;
  private final CollectorProtection collector;
  private final StageRegistry registry;
  private final SignalActions actuator;
  private final Receipts receipts;
  private final SignalChecks checks;
  private final FaultCounter faults;

  Hook(
      Application application,
      PublicKeys keys,
      FuseState state,
      CollectorProtection collector,
      StageRegistry registry,
      SignalActions actuator,
      Receipts receipts,
      FaultCounter faults) {
    this.application = application;
    this.keys = keys;
    this.state = state;
    this.collector = collector;
    this.registry = registry;
    this.actuator = actuator;
    this.receipts = receipts;
    this.checks = new SignalChecks(application);
    this.faults = faults;
  }

  /** Handles one record of the topic {@code signals}; other applications share the partition. */
  void receive(String key, String json, long nowMs) {
    boolean addressed = application.id.equals(key);
    Signal signal = Signal.getDefaultInstance();
    try {
      SignedSignal signed = SignalReader.signed(json);
      signal = SignalReader.signal(signed.getPayload());
      addressed |= application.id.equals(signal.getAppId());
      if (!addressed) {
        return;
      }
      writeReceipt(signal, new SignalResult("received", "the signal will be verified"), NOTHING);
      verify(signed, signal, nowMs);
    } catch (IllegalArgumentException malformed) {
      if (addressed) {
        writeReceipt(signal, SignalResult.refused(malformed.getMessage()), NOTHING);
      }
    } catch (Throwable fault) {
      faults.caught(fault);
      writeReceipt(signal, new SignalResult("failed", String.valueOf(fault)), NOTHING);
    }
  }

  private void verify(SignedSignal signed, Signal signal, long nowMs) {
    SignalResult refusal = signature(signed);
    refusal = refusal == null ? checks.check(signal, nowMs) : refusal;
    if (refusal == null && isSwitch(signal)) {
      switchCollector(signal);
      return;
    }
    refusal = refusal == null ? shape(signal) : refusal;
    if (refusal != null) {
      writeReceipt(signal, refusal, NOTHING);
      return;
    }
    Map<String, Long> columns = registry.columns(signal.getStageId(), signal.getStageAttempt());
    Predicate predicate = Predicate.evaluate(signal, columns);
    if (predicate.fault() != null) {
      writeReceipt(signal, SignalResult.refused(predicate.fault()), predicate.observed);
    } else if (predicate.disagreement() != null) {
      SignalResult result = new SignalResult("disagrees", predicate.disagreement());
      writeReceipt(signal, result, predicate.observed);
    } else {
      carryOut(signal, predicate, nowMs);
    }
  }

  private SignalResult signature(SignedSignal signed) {
    if (!keys.knows(signed.getKeyId())) {
      return SignalResult.refused("no public key has the id " + signed.getKeyId());
    }
    return keys.verifies(signed.getKeyId(), signed.getPayload(), signed.getSignature())
        ? null
        : SignalResult.refused("the signature is invalid");
  }

  private static boolean isSwitch(Signal signal) {
    return signal.getAction().equals(COLLECTOR_OFF) || signal.getAction().equals(COLLECTOR_ON);
  }

  /**
   * Switches the collector. This stops nothing of the job, so mode, hold and predicate do not
   * matter.
   */
  private void switchCollector(Signal signal) {
    boolean off = signal.getAction().equals(COLLECTOR_OFF);
    collector.setOff("a signal", off);
    writeReceipt(
        signal, new SignalResult("acted", "the collector is " + (off ? "off" : "on")), NOTHING);
  }

  private SignalResult shape(Signal signal) {
    if (state.mode() == FuseMode.OFF) {
      return SignalResult.refused("the owner switched the fuse off (spark.sparkfuse.fuse)");
    }
    if (signal.hasStageId()
        && registry.isIncomplete(signal.getStageId(), signal.getStageAttempt())) {
      return new SignalResult(
          "disagrees", "events of the stage were skipped, so its counters are incomplete");
    }
    if (signal.getAction().equals("cancel_stage") && !signal.hasStageId()) {
      return SignalResult.refused("cancel_stage requires a stage");
    }
    if (!signal.getAction().equals("warn") && signal.getPredicateCount() == 0) {
      return SignalResult.refused("a signal that stops work requires a predicate");
    }
    return null;
  }

  private void carryOut(Signal signal, Predicate predicate, long nowMs) {
    boolean stops = !signal.getAction().equals("warn");
    if (stops && (state.holds() || state.mode() != FuseMode.ACT)) {
      SignalResult result =
          state.holds()
              ? new SignalResult("held", "spark.sparkfuse.fuse.hold is set")
              : SignalResult.refused("the owner allows only warnings (spark.sparkfuse.fuse)");
      Signal warning = signal.toBuilder().setAction("warn").build();
      actuator.warn(ReasonText.of(warning));
      state.opened(warning, result, nowMs);
      writeReceipt(signal, result, predicate.observed);
      return;
    }
    // Job code may read the state as soon as its action fails, so it must be set before.
    state.opened(signal, new SignalResult("acted", ""), nowMs);
    writeReceipt(signal, actuator.act(signal), predicate.observed);
    if (signal.getAction().equals("stop_application")) {
      actuator.stopApplication(faults);
    }
  }

  private void writeReceipt(Signal signal, SignalResult result, Map<String, String> observed) {
    try {
      receipts.send(signal, result, observed);
      PluginLog.info(
          "Sparkfuse: signal "
              + signal.getSignalId()
              + " "
              + result.outcome
              + ": "
              + ReasonText.clean(result.reason));
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }
}
