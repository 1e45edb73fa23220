"""Builds the records that the fuse controller writes: actions of the audit log, and signals to the hook."""

from __future__ import annotations

import uuid

from sparkfuse_contracts.generated.action_pb2 import Action
from sparkfuse_contracts.generated.signal_pb2 import Condition, Signal
from sparkfuse_contracts.links import running_job_url
from sparkfuse_native_analytics.fuse_controller.decision import Decision
from sparkfuse_native_analytics.fuse_controller.finding_registry import Confirmation
from sparkfuse_native_analytics.fuse_controller.fuse_registry import CONTROLLER, GENERATION, JOB_KEY
from sparkfuse_native_analytics.fuse_controller.rule_match import RuleMatch
from sparkfuse_rules.conditions import signal_conditions
from sparkfuse_rules.describe import render
from sparkfuse_rules.rule import Rule

# The hook rejects signals with a longer lifetime.
SIGNAL_LIFE_MS = 120_000
WARN = "warn"


def make_signal(
    rule: Rule,
    match: RuleMatch,
    confirmation: Confirmation,
    mode: str,
    generation: int,
    now_ms: int,
    dashboard_url: str,
) -> Signal:
    """Return the signal to act on one stage, with the conditions that the hook checks and its expiry."""
    assert rule.fuse is not None
    run = match.scope.run
    return Signal(
        signal_id=uuid.uuid4().hex,
        cluster=run.cluster,
        app_id=run.app_id,
        app_attempt=run.app_attempt,
        app_start_ms=run.app_start_ms,
        generation=generation,
        rule=rule.id,
        action=WARN if mode == WARN else rule.fuse.action,
        stage_id=match.scope.stage_id,
        stage_attempt=match.scope.stage_attempt,
        predicate=[
            Condition(column=each.column, operator=each.operator, threshold=each.threshold)
            for each in signal_conditions(rule)
        ],
        # The hook appends the period when it shows the sentence.
        evidence=evidence(rule, match, confirmation).rstrip("."),
        finding_id=confirmation.finding.finding_id,
        issued_ms=now_ms,
        expires_ms=now_ms + SIGNAL_LIFE_MS,
        override_hint=override_hint(rule),
        dashboard_url=running_job_url(dashboard_url, run.app_id),
    )


def make_action(
    rule: Rule,
    match: RuleMatch,
    confirmation: Confirmation,
    mode: str,
    decision: Decision,
    now_ms: int,
    signal: Signal | None,
) -> Action:
    """Return one action of the audit log, with the column values that were evaluated."""
    assert rule.fuse is not None
    run = match.scope.run
    observed = {name: str(value) for name, value in match.row.items() if value is not None}
    observed |= {JOB_KEY: confirmation.finding.job_key}
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
        stage_id=match.scope.stage_id,
        stage_attempt=match.scope.stage_attempt,
        at_ms=now_ms,
        observed=observed,
        finding_id=confirmation.finding.finding_id,
    )
    if signal is not None:
        action.signal_id = signal.signal_id
    return action


def evidence(rule: Rule, match: RuleMatch, confirmation: Confirmation) -> str:
    """Return the rule's description with the values of the match and the stage name that detection found."""
    stage_name = confirmation.run.stage_name or str(match.scope.stage_id)
    return render(rule.description, {**match.row, "stage_name": stage_name})


def override_hint(rule: Rule) -> str:
    """Return one sentence that explains how the owner exempts the job from the fuse."""
    return (
        "to exempt this job from the fuse set spark.sparkfuse.fuse.hold=true, "
        f"to change the threshold set rules.{rule.id}.params in sparkfuse.yaml (see docs/fuse.md)"
    )
