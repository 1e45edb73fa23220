package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.contracts.SignedMessage;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.PluginLog;
import java.util.List;

/**
 * Handles one signal at a time: verifies its signature, learns the broker's time from the
 * acknowledgement of a receipt, reads the controls to their end, evaluates all gates, and acts.
 *
 * <p>If a step fails, the job continues. Used by one thread.
 */
final class Hook {
  static final long ACKNOWLEDGED_MS = 5_000;
  static final long CONTROLS_MS = 5_000;
  static final long QUIET_MS = 60_000;

  /** Longest record that is parsed, in characters; a signal has a few thousand. */
  static final int MAX_CHARS = 64 * 1024;

  /**
   * How many signatures are verified at once and then in a second. A controller sends a job a few
   * signals a minute; more would only use the CPU of the driver.
   */
  static final long VERIFIED_AT_ONCE = 60;

  static final long VERIFIED_PER_SECOND = 2;

  private final Application application;
  private final PublicKeys keys;
  private final PolicyBook policies;
  private final FuseState state;
  private final HookEdge edge;
  private final FaultCounter faults;
  private final List<Gates.Gate> gates;
  private final Receipts receipts;
  private final HookMemory memory = new HookMemory();
  private final RateLimit verifications;
  private long unverified;
  private Long unverifiedReportMs;

  Hook(
      Application application,
      PublicKeys keys,
      PolicyBook policies,
      FuseState state,
      HookEdge edge,
      FaultCounter faults) {
    this(application, keys, policies, state, edge, faults, Gates.ALL);
  }

  /** Creates a hook with the given gates, so that a test can remove one of them. */
  Hook(
      Application application,
      PublicKeys keys,
      PolicyBook policies,
      FuseState state,
      HookEdge edge,
      FaultCounter faults,
      List<Gates.Gate> gates) {
    this.application = application;
    this.keys = keys;
    this.policies = policies;
    this.state = state;
    this.edge = edge;
    this.faults = faults;
    this.gates = gates;
    this.receipts = new Receipts(application, state.mode(), edge.wallMs);
    this.verifications = new RateLimit(VERIFIED_AT_ONCE, VERIFIED_PER_SECOND, edge.clock);
  }

  /**
   * Handles one record; records of other applications in the same partition are recognised by their
   * key and ignored.
   */
  void receive(SignalRecord record) {
    if (!application.id.equals(record.key)) {
      return;
    }
    try {
      SignedMessage signed = verified(record.value);
      if (signed != null) {
        handle(record, signed);
      }
    } catch (Throwable fault) { // the job continues; the fault is counted and reported
      faults.caught(fault);
    }
  }

  /**
   * Returns the message, or null if no key of this job has signed it for the purpose of the
   * message. Everything that is cheap to check is checked before the signature.
   */
  private SignedMessage verified(String json) {
    String fault;
    try {
      JsonFields.require(json.length() <= MAX_CHARS, "the record is longer than " + MAX_CHARS);
      SignedMessage signed = MessageReader.signed(json);
      fault = unverified(signed);
      if (fault == null) {
        return signed;
      }
    } catch (IllegalArgumentException malformed) {
      fault = malformed.getMessage();
    }
    countUnverified(fault);
    return null;
  }

  private String unverified(SignedMessage signed) {
    String purpose = signed.getPurpose();
    if (purpose.equals(PublicKeys.APPROVE)) {
      return "a key with the purpose approve cannot sign a signal";
    }
    String fault = keys.unsuitable(signed, purpose);
    if (fault == null && !verifications.take()) {
      fault = "more than " + VERIFIED_PER_SECOND + " signals a second arrive for this application";
    }
    return fault == null ? keys.unverified(signed, purpose, AdmissionGates.TOPIC) : fault;
  }

  /** Reports unverified records, but at most once a minute, because anyone may send them. */
  private void countUnverified(String fault) {
    unverified++;
    long nowMs = edge.clock.ms();
    if (unverifiedReportMs == null || nowMs - unverifiedReportMs >= QUIET_MS) {
      edge.receipts.write(receipts.unverified(unverified, fault));
      unverifiedReportMs = nowMs;
      unverified = 0;
    }
  }

  private void handle(SignalRecord record, SignedMessage signed) {
    Signal signal = Signal.getDefaultInstance();
    try {
      signal = MessageReader.signal(signed.getPayload());
      if (signal.getAction().equals(Actions.EXTERNAL_STOP)) {
        // The hook writes no receipt here, because it could be mistaken for the external actuator's
        // answer.
        PluginLog.info("Sparkfuse: a signal for the external actuator is not for this hook");
        return;
      }
      BrokerTime time = acknowledged(receipts.step(signal, "received", "it will be verified"));
      if (time == null) {
        write(receipts.step(signal, "failed", "the broker did not acknowledge a receipt"));
        return;
      }
      HookMemory.View before = memory.view(signal, edge.clock.ms());
      Gates.Verdict verdict = decide(record, signed, signal, before, time);
      if (verdict.spendsGeneration()) {
        memory.admit(signal);
      }
      obey(verdict, record, signed, before);
    } catch (IllegalArgumentException malformed) {
      write(receipts.step(signal, "refused", malformed.getMessage()));
    } catch (Throwable fault) {
      faults.caught(fault);
      write(receipts.step(signal, "failed", String.valueOf(fault)));
    }
  }

  /** The broker's time at one moment of the monotonic clock. */
  private static final class BrokerTime {
    private final long brokerMs;
    private final long clockMs;

    private BrokerTime(long brokerMs, long clockMs) {
      this.brokerMs = brokerMs;
      this.clockMs = clockMs;
    }
  }

  /**
   * Writes a receipt and returns the broker's time, or null if the broker did not acknowledge the
   * receipt.
   */
  private BrokerTime acknowledged(String receipt) {
    long brokerMs = edge.receipts.writeAndWait(receipt, ACKNOWLEDGED_MS);
    return brokerMs == ReceiptWriter.UNKNOWN ? null : new BrokerTime(brokerMs, edge.clock.ms());
  }

  /** Reads controls and counters, and then evaluates all gates on what was read. */
  private Gates.Verdict decide(
      SignalRecord record,
      SignedMessage signed,
      Signal signal,
      HookMemory.View before,
      BrokerTime time) {
    GateContext context = new GateContext();
    context.application = application;
    context.keys = keys;
    context.record = record;
    context.keyId = signed.getKeyId();
    context.verifiedPurpose = signed.getPurpose();
    context.signal = signal;
    context.memory = before;
    context.policy = policies.find(signal.getPolicyHash());
    context.mode = state.mode();
    long beganMs = edge.clock.ms();
    context.controls = edge.controls.refresh(CONTROLS_MS);
    context.ownHold = state.holds();
    context.observed = edge.counters.observe(signal);
    context.sinceControlsMs = edge.clock.ms() - beganMs;
    context.nowMs = time.brokerMs + edge.clock.ms() - time.clockMs;
    return Gates.evaluate(gates, context);
  }

  private void obey(
      Gates.Verdict verdict, SignalRecord record, SignedMessage signed, HookMemory.View before)
      throws InterruptedException {
    Signal signal = verdict.context.signal;
    // A probe that was not admitted is not a valid signal, so the hook refuses the probe instead of
    // answering it.
    if (signal.getProbe() && verdict.admitted) {
      String outcome = verdict.passes() ? "would_act" : "would_not_act";
      write(receipts.decision(verdict, outcome, verdict.reason));
    } else if (!verdict.passes()) {
      refuse(verdict);
    } else if (verdict.context.isSwitch()) {
      switchCollector(signal);
    } else if (verdict.context.stops()) {
      stop(verdict, record, signed, before);
    } else {
      warn(verdict);
    }
  }

  private void refuse(Gates.Verdict verdict) {
    write(receipts.decision(verdict, verdict.outcome, verdict.reason));
    if (verdict.outcome.equals("held")) {
      state.shown(verdict.context.signal, "held", edge.wallMs.getAsLong());
    }
  }

  /** Switches the collector. The job itself is not affected. */
  private void switchCollector(Signal signal) {
    boolean off = signal.getAction().equals(Actions.COLLECTOR_OFF);
    edge.actuator.switchCollector(off);
    write(receipts.step(signal, "ended", "the collector is " + (off ? "off" : "on")));
  }

  private void warn(Gates.Verdict verdict) {
    Signal warning = verdict.context.signal.toBuilder().setAction(Actions.WARN).build();
    edge.actuator.warn(ReasonText.of(warning));
    state.shown(warning, "warned", edge.wallMs.getAsLong());
    String reason = verdict.context.warnReason;
    write(receipts.decision(verdict, "warned", reason == null ? "the owner was warned" : reason));
  }

  private void stop(
      Gates.Verdict verdict, SignalRecord record, SignedMessage signed, HookMemory.View before)
      throws InterruptedException {
    Signal signal = verdict.context.signal;
    memory.spend(signal, edge.clock.ms());
    BrokerTime time =
        acknowledged(receipts.decision(verdict, "requested", "all gates have passed"));
    if (time == null) {
      write(receipts.step(signal, "failed", "the broker did not acknowledge the request"));
      return;
    }
    long waitedMs = edge.actuator.awaitSafePoint(signal);
    if (waitedMs > 0) {
      String reason = "waited " + waitedMs + " ms for a safe point of the job";
      write(receipts.step(signal, "requested", reason));
    }
    // A hold may have arrived, or the work may have ended, since the receipt "requested" was
    // written.
    Gates.Verdict last = decide(record, signed, signal, before, time);
    if (!last.passes()) {
      refuse(last);
      return;
    }
    act(last);
  }

  private void act(Gates.Verdict verdict) {
    Signal signal = verdict.context.signal;
    // Job code may read the state as soon as its action fails, so the state is set before the act.
    long event = state.opened(signal, edge.actuator.blocks(signal), edge.wallMs.getAsLong());
    memory.stopsApplication(signal, true);
    try {
      ActResult result = edge.actuator.act(signal, ReasonText.of(signal));
      state.finished(event, result.outcome());
      write(receipts.act(verdict, result));
    } catch (Throwable fault) {
      faults.caught(fault);
      state.failed(event);
      memory.stopsApplication(signal, false);
      write(receipts.decision(verdict, "failed", String.valueOf(fault)));
    }
  }

  private void write(String receipt) {
    PluginLog.info("Sparkfuse: receipt of a signal: " + receipt);
    edge.receipts.write(receipt);
  }
}
