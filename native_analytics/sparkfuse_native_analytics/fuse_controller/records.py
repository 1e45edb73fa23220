"""Builds what the fuse controller writes: audit records, and signals to the hook."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.control_pb2 import Control
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_native_analytics.fuse_controller.act_registry import (
    CONTRADICTORY,
    ENDED,
    RECEIPTS,
    VERIFIED,
    Act,
)
from sparkfuse_native_analytics.fuse_controller.gates import Case
from sparkfuse_native_analytics.fuse_controller.outcomes import Outcome, shortened
from sparkfuse_native_analytics.fuse_controller.probes import SCORED, Probe
from sparkfuse_native_analytics.fuse_controller.scope import Run
from sparkfuse_rules.describe import render
from sparkfuse_rules.rule import Rule

# The longest lifetime of a signal that the hook accepts.
SIGNAL_LIFE_MS = 120_000
CONTROLLER = "controller"
# The longest evidence of a signal and of its audit record; the broker refuses records of more than a megabyte.
MAX_EVIDENCE = 2_000
HOLD_SET, HOLD_RELEASED, ARMED, DISARMED = "hold_set", "hold_released", "armed", "disarmed"


@dataclass(frozen=True)
class Step:
    """A decision of the controller about one case, as the audit log records it."""

    step: str
    mode: str
    action: str
    reason: str
    gate: str = ""
    digest: str = ""
    approval_id: str = ""


@dataclass(frozen=True)
class Target:
    """The target of a signal: a run, its job, a rule with its policy, and a stage, query or task."""

    run: Run
    job_key: str
    rule: str
    policy_hash: str
    stage: tuple[int, int] | None
    query_id: int | None = None
    task_id: int | None = None


def make_signal(target: Target, action: str, generation: int, epoch: int, now_ms: int, *, probe: bool) -> Signal:
    """Return a signal without texts for people; the signal expires after SIGNAL_LIFE_MS."""
    signal = Signal(
        signal_id=uuid.uuid4().hex,
        cluster=target.run.cluster,
        app_id=target.run.app_id,
        app_attempt=target.run.app_attempt,
        app_start_ms=target.run.app_start_ms,
        epoch=epoch,
        generation=generation,
        rule=target.rule,
        action=action,
        probe=probe,
        policy_hash=target.policy_hash,
        job_key=target.job_key,
        issued_ms=now_ms,
        expires_ms=now_ms + SIGNAL_LIFE_MS,
    )
    if target.stage is not None:
        signal.stage_id, signal.stage_attempt = target.stage
    if target.query_id is not None:
        signal.query_id = target.query_id
    if target.task_id is not None:
        signal.task_id = target.task_id
    return signal


def describe_signal(signal: Signal, case: Case, page: str) -> None:
    """Add the texts for people: the evidence, the finding, how to override, and the address of a page about it."""
    # The sentence ends without a period, because the hook appends one.
    signal.evidence = evidence(case).rstrip(".")
    signal.finding_id = case.candidate.finding.finding_id
    signal.override_hint = override_hint(case.variant.rule)
    signal.dashboard_url = page


def case_record(case: Case, step: Step, now_ms: int, signal: Signal | None = None) -> AuditRecord:
    """Return the audit record of a step about a case, with the column values that were evaluated."""
    finding, scope = case.candidate.finding, case.candidate.scope
    row: Mapping[str, object] = case.match.row if case.match else {}
    record = _of_target(
        scope.run,
        target_of(case),
        AuditRecord(
            step=step.step,
            actor=CONTROLLER,
            job_key=finding.job_key,
            tenant=finding.tenant,
            team=finding.team,
            rule=scope.rule,
            action=step.action,
            mode=step.mode,
            gate=step.gate,
            reason=step.reason,
            signal_id=signal.signal_id if signal else "",
            finding_id=finding.finding_id,
            policy_hash=case.variant.policy_hash,
            at_ms=now_ms,
            observed={name: shortened(str(value)) for name, value in row.items() if value is not None},
            digest=step.digest,
            approval_id=step.approval_id,
        ),
    )
    return _with_costs(record, case)


def _with_costs(record: AuditRecord, case: Case) -> AuditRecord:
    """Add the costs that detection estimated for the run; unknown costs stay absent."""
    run = case.candidate.run
    if run.HasField("cost"):
        record.cost, record.currency = run.cost, case.candidate.finding.currency
        if run.HasField("cost_avoidable"):
            record.cost_avoided = run.cost_avoidable
    return record


def target_of(case: Case) -> Target:
    """Return the target of a case: a task, stage or application, with the stage and query to which it belongs."""
    finding, scope, run = case.candidate.finding, case.candidate.scope, case.candidate.run
    # If a finding is about an application, its stage or query is only an example.
    query_id = run.query_id if scope.stage_id is not None and run.HasField("query_id") else scope.query_id
    return Target(
        scope.run, finding.job_key, scope.rule, case.variant.policy_hash, scope.stage, query_id, scope.task_id
    )


def probe_record(target: Target, signal: Signal, step: str, mode: str, tenant: str, now_ms: int) -> AuditRecord:
    """Return the audit record of a probe of work for which no finding fires."""
    return _of_target(
        target.run,
        target,
        AuditRecord(
            step=step,
            actor=CONTROLLER,
            job_key=signal.job_key,
            tenant=tenant,
            rule=signal.rule,
            action=signal.action,
            mode=mode,
            signal_id=signal.signal_id,
            policy_hash=signal.policy_hash,
            at_ms=now_ms,
        ),
    )


def score_record(probe: Probe, now_ms: int) -> AuditRecord:
    """Return the audit record of a scored probe."""
    observed = {"stage_status": probe.stage_status, "run_status": probe.run_status, "matched": str(probe.matched)}
    if probe.stage_ended_ms:
        observed["ended_after_ms"] = str(probe.stage_ended_ms - probe.at_ms)
    record = AuditRecord(
        step=SCORED,
        actor=CONTROLLER,
        rule=probe.rule,
        action=probe.action,
        gate=probe.gate,
        outcome=probe.score,
        signal_id=probe.signal_id,
        policy_hash=probe.policy_hash,
        at_ms=now_ms,
        observed=observed,
    )
    if probe.stage is not None:
        record.stage_id, record.stage_attempt = probe.stage
    return _of_run(probe.run, record)


def verified_record(act: Act, found: Outcome, now_ms: int) -> AuditRecord:
    """Return the audit record of the outcome of an act."""
    record = AuditRecord(
        step=VERIFIED,
        actor=CONTROLLER,
        job_key=act.job_key,
        tenant=act.tenant,
        team=act.team,
        rule=act.rule,
        action=act.action,
        mode=act.mode,
        outcome=found.outcome,
        reason=found.reason,
        signal_id=act.signal_id,
        at_ms=now_ms,
        observed={RECEIPTS: CONTRADICTORY} if found.contested else {},
    )
    if act.cost_avoided is not None and found.outcome == ENDED:
        record.cost_avoided, record.currency = act.cost_avoided, act.currency
    return _of_target(act.run, act, record)


def order_record(control: Control, now_ms: int) -> AuditRecord:
    """Return the audit record of a person's order: the beginning or the end of a hold or an arming."""
    steps = {("hold", False): HOLD_SET, ("hold", True): HOLD_RELEASED, ("arm", False): ARMED, ("arm", True): DISARMED}
    observed = {"issued_ms": str(control.issued_ms), "app": control.app, "replay": control.replay}
    if control.HasField("until_ms"):
        observed["until_ms"] = str(control.until_ms)
    return _clean(
        AuditRecord(
            step=steps[(control.kind, control.released)],
            actor=control.actor,
            cluster=control.cluster,
            job_key=control.job,
            rule=control.rule,
            action=control.action,
            reason=control.reason,
            control_id=control.control_id,
            at_ms=now_ms,
            observed={name: text for name, text in observed.items() if text},
        )
    )


def controller_record(step: str, reason: str, now_ms: int, cluster: str = "", gate: str = "") -> AuditRecord:
    """Return an audit record about the controller or a whole cluster."""
    return _clean(AuditRecord(step=step, actor=CONTROLLER, cluster=cluster, gate=gate, reason=reason, at_ms=now_ms))


def evidence(case: Case) -> str:
    """Return the rule's description, filled with the values of the match and detection's name of the stage."""
    scope = case.candidate.scope
    row = case.match.row if case.match else {}
    if scope.stage_id is None:
        return shortened(render(case.variant.rule.description, row), MAX_EVIDENCE)
    stage_name = case.candidate.run.stage_name or str(scope.stage_id)
    return shortened(render(case.variant.rule.description, {**row, "stage_name": stage_name}), MAX_EVIDENCE)


def override_hint(rule: Rule) -> str:
    """Return one sentence that explains how the owner exempts the job from the fuse."""
    return (
        "to exempt this job from the fuse set spark.sparkfuse.fuse.hold=true, "
        f"to change the threshold set rules.{rule.id}.params in sparkfuse.yaml (see docs/fuse.md)"
    )


def _of_target(run: Run, target: Target | Act, record: AuditRecord) -> AuditRecord:
    """Add run, stage, query and task to a record."""
    if target.stage is not None:
        record.stage_id, record.stage_attempt = target.stage
    if target.query_id is not None:
        record.query_id = target.query_id
    if target.task_id is not None:
        record.task_id = target.task_id
    return _of_run(run, record)


def _of_run(run: Run, record: AuditRecord) -> AuditRecord:
    """Add the run to a record, and clear empty strings, so that they are absent in the store too."""
    record.cluster, record.app_id = run.cluster, run.app_id
    record.app_attempt, record.app_start_ms = run.app_attempt, run.app_start_ms
    return _clean(record)


def _clean(record: AuditRecord) -> AuditRecord:
    for field, value in record.ListFields():
        if value == "":
            record.ClearField(field.name)
    return record
