package io.sparkfuse.spark.hook;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;

/**
 * The gates between a signal and an act, in the order in which they are evaluated. Each gate is a
 * pure function of one {@link GateContext}, so that a test can remove one gate and show what the
 * gate prevents. The first gate that does not pass decides.
 *
 * <p>A signal for this run with a valid signature uses up its generation, even if a gate refuses
 * it, so that a copy of it is never obeyed later.
 */
final class Gates {
  /**
   * One gate; {@code admission} gates decide whether the signal is a valid new one for this run.
   */
  static final class Gate {
    final String name;
    final boolean admission;
    private final Function<GateContext, GateResult> check;

    private Gate(String name, boolean admission, Function<GateContext, GateResult> check) {
      this.name = name;
      this.admission = admission;
      this.check = check;
    }

    GateResult check(GateContext context) {
      return check.apply(context);
    }
  }

  /** The decision of all gates. */
  static final class Verdict {
    /** The context after the last gate that ran, which may have replaced a stop by a warning. */
    final GateContext context;

    /** The gate that refused, or null. */
    final String gate;

    final String outcome;
    final String reason;

    /** Whether the signal is a valid new one for this run. */
    final boolean admitted;

    private Verdict(GateContext context, Gate gate, GateResult result) {
      this.context = context;
      this.gate = gate == null ? null : gate.name;
      this.outcome = result.outcome;
      this.reason = result.reason;
      this.admitted = gate == null || !gate.admission;
    }

    boolean passes() {
      return gate == null;
    }

    /**
     * Returns whether the signal uses up its generation, so that a copy of it is never obeyed
     * later.
     *
     * <p>The signal of a replaced controller uses none, because its epoch is refused for ever.
     * Switch signals have clock times as generations, so one that is refused for its wrong clock
     * must not make the next ones old.
     */
    boolean spendsGeneration() {
      return admitted || (!context.isSwitch() && !FOREIGN.contains(gate));
    }
  }

  /** Gates that refuse signals which were never valid for this run. */
  private static final List<String> FOREIGN = Arrays.asList("signature", "identity", "epoch");

  static final List<Gate> ALL =
      Collections.unmodifiableList(
          Arrays.asList(
              new Gate("signature", true, AdmissionGates::signature),
              new Gate("identity", true, AdmissionGates::identity),
              new Gate("timestamp", true, AdmissionGates::timestamp),
              new Gate("clock", true, AdmissionGates::clock),
              new Gate("lifetime", true, AdmissionGates::lifetime),
              new Gate("epoch", true, AdmissionGates::epoch),
              new Gate("generation", true, AdmissionGates::generation),
              new Gate("policy", false, PermissionGates::policy),
              new Gate("mode", false, PermissionGates::mode),
              new Gate("hold", false, PermissionGates::hold),
              new Gate("armed", false, PermissionGates::armed),
              new Gate("approval", false, PermissionGates::approval),
              new Gate("budget", false, PermissionGates::budget),
              new Gate("shared_driver", false, EvidenceGates::sharedDriver),
              new Gate("blind", false, EvidenceGates::blind),
              new Gate("target", false, EvidenceGates::target),
              new Gate("predicate", false, EvidenceGates::predicate),
              new Gate("pause", false, EvidenceGates::pause)));

  private Gates() {}

  /** Returns all gates except the named one; throws if there is none of that name. */
  static List<Gate> without(String name) {
    List<Gate> rest = new ArrayList<>(ALL);
    if (!rest.removeIf(gate -> gate.name.equals(name))) {
      throw new IllegalArgumentException("there is no gate " + name);
    }
    return rest;
  }

  static Verdict evaluate(List<Gate> gates, GateContext start) {
    GateContext context = start;
    for (Gate gate : gates) {
      GateResult result = gate.check(context);
      if (!result.passes()) {
        return new Verdict(context, gate, result);
      }
      if (result.warnInstead) {
        context = context.asWarning(result.reason);
      }
    }
    return new Verdict(context, null, GateResult.PASS);
  }
}
