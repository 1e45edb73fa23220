package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.contracts.SignedSignal;
import io.sparkfuse.spark.counters.StageBook;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.safety.CollectorProtection;
import io.sparkfuse.spark.safety.Faults;
import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.settings.FuseMode;
import java.util.Collections;
import java.util.Map;

/**
 * Judges one signal after the other: signature, address, time, generation, the owner's mode, and at
 * last its predicate against this JVM's own counters. Whatever does not pass is answered, and the
 * job runs on.
 */
final class Hook {
  private static final Map<String, String> NOTHING = Collections.emptyMap();

  private static final String COLLECTOR_OFF = "collector_off";
  private static final String COLLECTOR_ON = "collector_on";

  private final Application application;
  private final PublicKeys keys;
  private final FuseState state;
  private final CollectorProtection collector;
  private final StageBook book;
  private final Actuator actuator;
  private final Receipts receipts;
  private final SignalChecks checks;
  private final Faults faults;

  Hook(
      Application application,
      PublicKeys keys,
      FuseState state,
      CollectorProtection collector,
      StageBook book,
      Actuator actuator,
      Receipts receipts,
      Faults faults) {
    this.application = application;
    this.keys = keys;
    this.state = state;
    this.collector = collector;
    this.book = book;
    this.actuator = actuator;
    this.receipts = receipts;
    this.checks = new SignalChecks(application);
    this.faults = faults;
  }

  /** Takes one record of the topic {@code signals}; other applications share its partition. */
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
      answer(signal, new Verdict("received", "to be checked"), NOTHING);
      judge(signed, signal, nowMs);
    } catch (IllegalArgumentException malformed) {
      if (addressed) {
        answer(signal, Verdict.refused(malformed.getMessage()), NOTHING);
      }
    } catch (Throwable fault) {
      faults.caught(fault);
      answer(signal, new Verdict("failed", String.valueOf(fault)), NOTHING);
    }
  }

  private void judge(SignedSignal signed, Signal signal, long nowMs) {
    Verdict refusal = signature(signed);
    refusal = refusal == null ? checks.check(signal, nowMs) : refusal;
    if (refusal == null && isSwitch(signal)) {
      switchCollector(signal);
      return;
    }
    refusal = refusal == null ? shape(signal) : refusal;
    if (refusal != null) {
      answer(signal, refusal, NOTHING);
      return;
    }
    Map<String, Long> columns = book.columns(signal.getStageId(), signal.getStageAttempt());
    Predicate predicate = Predicate.evaluate(signal, columns);
    if (predicate.fault() != null) {
      answer(signal, Verdict.refused(predicate.fault()), predicate.observed);
    } else if (predicate.disagreement() != null) {
      Verdict verdict = new Verdict("disagrees", predicate.disagreement());
      answer(signal, verdict, predicate.observed);
    } else {
      obey(signal, predicate, nowMs);
    }
  }

  private Verdict signature(SignedSignal signed) {
    if (!keys.knows(signed.getKeyId())) {
      return Verdict.refused("no public key has the id " + signed.getKeyId());
    }
    return keys.verifies(signed.getKeyId(), signed.getPayload(), signed.getSignature())
        ? null
        : Verdict.refused("the signature is wrong");
  }

  private static boolean isSwitch(Signal signal) {
    return signal.getAction().equals(COLLECTOR_OFF) || signal.getAction().equals(COLLECTOR_ON);
  }

  /** It stops nothing of the job's, so neither mode nor hold nor predicate is asked. */
  private void switchCollector(Signal signal) {
    boolean off = signal.getAction().equals(COLLECTOR_OFF);
    collector.setOff("a signal", off);
    answer(signal, new Verdict("acted", "the collector is " + (off ? "off" : "on")), NOTHING);
  }

  private Verdict shape(Signal signal) {
    if (state.mode() == FuseMode.OFF) {
      return Verdict.refused("the owner switched the fuse off (spark.sparkfuse.fuse)");
    }
    if (signal.hasStageId() && book.isBlind(signal.getStageId(), signal.getStageAttempt())) {
      return new Verdict(
          "disagrees", "events of the stage were passed over, so its counters are not whole");
    }
    if (signal.getAction().equals("cancel_stage") && !signal.hasStageId()) {
      return Verdict.refused("cancel_stage names no stage");
    }
    if (!signal.getAction().equals("warn") && signal.getPredicateCount() == 0) {
      return Verdict.refused("it stops something and has no predicate");
    }
    return null;
  }

  private void obey(Signal signal, Predicate predicate, long nowMs) {
    boolean stops = !signal.getAction().equals("warn");
    if (stops && (state.holds() || state.mode() != FuseMode.ACT)) {
      Verdict verdict =
          state.holds()
              ? new Verdict("held", "spark.sparkfuse.fuse.hold is set")
              : Verdict.refused("the owner allows warnings only (spark.sparkfuse.fuse)");
      Signal warning = signal.toBuilder().setAction("warn").build();
      actuator.warn(ReasonText.of(warning));
      state.opened(warning, verdict, nowMs);
      answer(signal, verdict, predicate.observed);
      return;
    }
    // Job code may look at the state as soon as its action fails: it must be there by then.
    state.opened(signal, new Verdict("acted", ""), nowMs);
    answer(signal, actuator.act(signal), predicate.observed);
    if (signal.getAction().equals("stop_application")) {
      actuator.stopApplication(faults);
    }
  }

  private void answer(Signal signal, Verdict verdict, Map<String, String> observed) {
    try {
      receipts.send(signal, verdict, observed);
      PluginLog.info(
          "Sparkfuse: signal "
              + signal.getSignalId()
              + " "
              + verdict.outcome
              + ": "
              + ReasonText.clean(verdict.reason));
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }
}
