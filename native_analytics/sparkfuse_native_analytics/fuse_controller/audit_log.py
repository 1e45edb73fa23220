"""What the fuse controller writes: the steps of the audit, and the signal that orders an act."""

from __future__ import annotations

import uuid

from sparkfuse_contracts.generated.action_pb2 import Action
from sparkfuse_contracts.generated.signal_pb2 import Condition, Signal
from sparkfuse_contracts.links import running_job_url
from sparkfuse_native_analytics.fuse_controller.decision import Decision
from sparkfuse_native_analytics.fuse_controller.findings import Witness
from sparkfuse_native_analytics.fuse_controller.fuse_states import CONTROLLER, GENERATION, JOB_KEY
from sparkfuse_native_analytics.fuse_controller.verdict import Verdict
from sparkfuse_rules.conditions import signal_conditions
from sparkfuse_rules.describe import render
from sparkfuse_rules.rule import Rule

# The hook refuses what may live longer; a driver that answers later is in other trouble.
SIGNAL_LIFE_MS = 120_000
WARN = "warn"


def make_signal(
    rule: Rule, verdict: Verdict, witness: Witness, mode: str, generation: int, now_ms: int, dashboard_url: str
) -> Signal:
    """The order to act on one stage: what must hold in the hook's own counters, until when, and how to override it."""
    assert rule.fuse is not None
    run = verdict.scope.run
    return Signal(
        signal_id=uuid.uuid4().hex,
        cluster=run.cluster,
        app_id=run.app_id,
        app_attempt=run.app_attempt,
        app_start_ms=run.app_start_ms,
        generation=generation,
        rule=rule.id,
        action=WARN if mode == WARN else rule.fuse.action,
        stage_id=verdict.scope.stage_id,
        stage_attempt=verdict.scope.stage_attempt,
        predicate=[
            Condition(column=each.column, operator=each.operator, threshold=each.threshold)
            for each in signal_conditions(rule)
        ],
        # The hook ends the sentence itself when it tells the user.
        evidence=evidence(rule, verdict).rstrip("."),
        finding_id=witness.finding.finding_id,
        issued_ms=now_ms,
        expires_ms=now_ms + SIGNAL_LIFE_MS,
        override_hint=override_hint(rule),
        dashboard_url=running_job_url(dashboard_url, run.app_id),
    )


def make_action(
    rule: Rule, verdict: Verdict, witness: Witness, mode: str, decision: Decision, now_ms: int, signal: Signal | None
) -> Action:
    """One step of the audit, with the numbers that were looked at."""
    assert rule.fuse is not None
    run = verdict.scope.run
    observed = {name: str(value) for name, value in verdict.row.items() if value is not None}
    observed |= {JOB_KEY: witness.finding.job_key}
    if signal is not None:
        observed |= {GENERATION: str(signal.generation)}
    action = Action(
        action_id=uuid.uuid4().hex,
        actor=CONTROLLER,
        cluster=run.cluster,
        app_id=run.app_id,
        app_attempt=run.app_attempt,
        app_start_ms=run.app_start_ms,
        rule=rule.id,
        action=WARN if mode == WARN else rule.fuse.action,
        mode=mode,
        outcome=decision.outcome,
        reason=decision.reason,
        stage_id=verdict.scope.stage_id,
        stage_attempt=verdict.scope.stage_attempt,
        at_ms=now_ms,
        observed=observed,
        finding_id=witness.finding.finding_id,
    )
    if signal is not None:
        action.signal_id = signal.signal_id
    return action


def evidence(rule: Rule, verdict: Verdict) -> str:
    """The rule's sentence with the numbers of the verdict."""
    return render(rule.description, verdict.row)


def override_hint(rule: Rule) -> str:
    """How the owner keeps the fuse from this job, in one sentence."""
    return (
        "to keep the fuse away from this job set spark.sparkfuse.fuse.hold=true, "
        f"to change what is too much set rules.{rule.id}.params in sparkfuse.yaml (see docs/fuse.md)"
    )
