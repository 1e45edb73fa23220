package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Approval;
import io.sparkfuse.contracts.Signal;
import io.sparkfuse.contracts.SignedMessage;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;

/** Gates that decide whether owner, operators and policy permit the action. */
final class PermissionGates {
  static final String APPROVALS = "approvals";
  static final int MAX_STOPS_PER_HOUR = 3;

  private PermissionGates() {}

  /**
   * Refuses a signal if this job does not have the signal's policy, or if the policy does not allow
   * the action.
   */
  static GateResult policy(GateContext context) {
    Signal signal = context.signal;
    if (context.isSwitch()) {
      return GateResult.PASS;
    }
    if (context.policy == null) {
      return GateResult.refused("this job has no policy with the hash " + signal.getPolicyHash());
    }
    if (!context.policy.rule.equals(signal.getRule())) {
      return GateResult.refused("the policy is for the rule " + context.policy.rule);
    }
    String action = signal.getAction();
    boolean allowed = action.equals(Actions.WARN) || context.policy.actions.contains(action);
    return allowed
        ? GateResult.PASS
        : GateResult.refused("the policy does not allow the action " + signal.getAction());
  }

  /**
   * Refuses a signal if the owner switched the fuse off; turns a stop into a warning if the owner
   * allows only warnings.
   */
  static GateResult mode(GateContext context) {
    if (context.isSwitch()) {
      return GateResult.PASS;
    }
    if (context.mode == FuseMode.OFF) {
      return GateResult.refused("the owner switched the fuse off (spark.sparkfuse.fuse)");
    }
    return context.stopsNow() && context.mode != FuseMode.ACT
        ? GateResult.warnInstead("the owner allows only warnings (spark.sparkfuse.fuse)")
        : GateResult.PASS;
  }

  /**
   * Refuses a signal that a hold of the owner, the job code or an operator covers; unreachable
   * controls count as a hold.
   */
  static GateResult hold(GateContext context) {
    if (context.ownHold && !context.isSwitch()) {
      return GateResult.refuse("held", "the job holds the fuse (spark.sparkfuse.fuse.hold)");
    }
    String reason =
        context.isSwitch()
            ? context.controls.unreachable()
            : context.controls.hold(context.signal, context.application.cluster, context.nowMs);
    return reason == null ? GateResult.PASS : GateResult.refuse("held", reason);
  }

  /** Refuses a stop that no operator has armed for the rule, action and job. */
  static GateResult armed(GateContext context) {
    boolean armed =
        !context.stopsNow()
            || context.controls.arms(context.signal, context.application.cluster, context.nowMs);
    return armed
        ? GateResult.PASS
        : GateResult.refused(
            context.signal.getRule() + " is not armed for " + context.signal.getAction());
  }

  /**
   * Refuses a stop without the approval that the policy requires. A probe needs no approval:
   * otherwise the hook would refuse every probe, and each refusal would count as a correct answer.
   */
  static GateResult approval(GateContext context) {
    if (!context.stopsNow() || context.policy == null || !context.policy.requiresApproval) {
      return GateResult.PASS;
    }
    if (!context.signal.hasApproval()) {
      return GateResult.refused("the policy requires an approval");
    }
    String fault = approvalFault(context, context.signal.getApproval());
    return fault == null ? GateResult.PASS : GateResult.refused(fault);
  }

  private static String approvalFault(GateContext context, SignedMessage signed) {
    String fault = context.keys.unverified(signed, PublicKeys.APPROVE, APPROVALS);
    if (fault == null) {
      fault = context.keys.invalid(signed.getKeyId(), context.nowMs, context.controls.revoked);
    }
    if (fault != null) {
      return "the approval: " + fault;
    }
    Approval approval;
    try {
      approval = MessageReader.approval(signed.getPayload());
    } catch (IllegalArgumentException malformed) {
      return "the approval: " + malformed.getMessage();
    }
    if (!approval.getDigest().equals(Hashes.target(context.signal))) {
      return "the approval is for another target";
    }
    if (context.nowMs >= approval.getExpiresMs()) {
      return "the approval has expired";
    }
    boolean used =
        approval.getApprovalId().isEmpty()
            || context.memory.approvals.contains(approval.getApprovalId());
    return used ? "the approval was already used" : null;
  }

  /**
   * Refuses stops beyond the hook's own limit for an application, whatever the controller requests.
   */
  static GateResult budget(GateContext context) {
    if (!context.stopsNow()) {
      return GateResult.PASS;
    }
    if (context.memory.stopsOfLastHour >= MAX_STOPS_PER_HOUR) {
      return GateResult.refused(
          "the hook has stopped work " + MAX_STOPS_PER_HOUR + " times in an hour");
    }
    boolean again =
        context.signal.getAction().equals(Actions.STOP_APPLICATION)
            && context.memory.applicationStops > 0;
    return again ? GateResult.refused("the application is already being stopped") : GateResult.PASS;
  }
}
