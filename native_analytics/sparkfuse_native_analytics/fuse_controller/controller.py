"""The fuse controller: evaluates the rules, decides, records each step before and after, and sends signals."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from sparkfuse_contracts.generated.action_pb2 import Action
from sparkfuse_contracts.generated.signal_pb2 import Signal, SignedSignal
from sparkfuse_native_analytics.fuse_controller.audit_log import evidence, make_action, make_signal
from sparkfuse_native_analytics.fuse_controller.controller_policy import ControllerPolicy
from sparkfuse_native_analytics.fuse_controller.decision import (
    HELD,
    WOULD_ACT,
    AffectedApplications,
    Circumstances,
    Decision,
    decide,
)
from sparkfuse_native_analytics.fuse_controller.finding_registry import Confirmation, FindingRegistry
from sparkfuse_native_analytics.fuse_controller.fuse_registry import SHADOW, FuseRegistry
from sparkfuse_native_analytics.fuse_controller.rule_match import RuleMatch, Run, Scope
from sparkfuse_native_analytics.fuse_controller.signing import sign
from sparkfuse_native_analytics.fuse_controller.silences import SilenceUnknownError
from sparkfuse_native_analytics.fuse_controller.view import LiveView

SENT, FAILED = "sent", "failed"
_log = logging.getLogger("sparkfuse.fuse_controller")


class Environment(Protocol):
    """The clock, Kafka and Alertmanager as the controller uses them. Tests pass an implementation without I/O."""

    def now_ms(self) -> int:
        """Return the time in ms since the epoch."""

    def refresh(self) -> None:
        """Read the records that have arrived, so that an act uses the latest rows."""

    def silenced(self, finding_id: str) -> bool:
        """Whether the finding's alert is silenced. Raises SilenceUnknownError if no Alertmanager answers."""

    def write_action(self, action: Action) -> None:
        """Write an action and wait until the broker has stored it. Raises OSError if it did not."""

    def write_signal(self, signed: SignedSignal, signal: Signal) -> None:
        """Send a signal and wait until the broker has stored it. Raises OSError if it did not."""


class FuseController:
    """One controller for all applications; not safe to share between threads."""

    def __init__(
        self, policy: ControllerPolicy, view: LiveView, key: EllipticCurvePrivateKey | None, dashboard_url: str
    ) -> None:
        """``key`` may be None only if no rule is in mode warn or act."""
        self.view = view
        self.findings = FindingRegistry()
        self.fuses = FuseRegistry()
        self._key = key
        self._dashboard_url = dashboard_url
        self._recorded_checks: dict[Scope, str] = {}
        self.use(policy)

    def use(self, policy: ControllerPolicy) -> None:
        """Replace the policy."""
        self.policy = policy
        self.view.use(policy.watched())

    def evaluate(self, environment: Environment) -> None:
        """Evaluate all running stages once, and act on those that pass every check."""
        matches = self._matches(environment.now_ms())
        decided = [(match, self._decide(match, matches, environment)) for match in matches]
        if any(decision and decision.outcome == WOULD_ACT for _, decision in decided):
            environment.refresh()
            matches = self._matches(environment.now_ms())
            # One by one, because each act spends budget and blows a fuse.
            for match in matches:
                self._carry_out(match, self._decide(match, matches, environment), environment)
        else:
            for match, decision in decided:
                self._carry_out(match, decision, environment)
        scopes = {match.scope for match in matches}
        self._recorded_checks = {scope: check for scope, check in self._recorded_checks.items() if scope in scopes}

    def _matches(self, now_ms: int) -> list[RuleMatch]:
        matches = [match for match in self.view.matches(now_ms) if self._is_variant_of_job(match, now_ms)]
        matching = {(match.scope.run, match.scope.rule) for match in matches}
        self.fuses.advance_others(matching, now_ms, self.policy.safeguards.times)
        return matches

    def _is_variant_of_job(self, match: RuleMatch, now_ms: int) -> bool:
        """Whether the matching variant applies to the job. Only the finding knows the job; without one nothing acts."""
        confirmation = self.findings.confirmation(match.scope, now_ms)
        return confirmation is None or self.policy.for_job(match.rule.id, confirmation.finding.job_key) == match.rule

    def _decide(self, match: RuleMatch, all_matches: Sequence[RuleMatch], environment: Environment) -> Decision | None:
        now_ms, scope, safeguards = environment.now_ms(), match.scope, self.policy.safeguards
        confirmation = self.findings.confirmation(scope, now_ms)
        job_key = confirmation.finding.job_key if confirmation else ""
        tenant = str(match.row.get("tenant") or "")
        shadow = self.policy.mode(match.rule) == SHADOW
        holds = (hold for hold in safeguards.holds if hold.covers(scope.rule, job_key, scope.run.app_id, now_ms))
        circumstances = Circumstances(
            fuse=self.fuses.advance(scope.run, scope.rule, True, now_ms, safeguards.times),
            hold=next(holds, None),
            over_budget=self.fuses.over_budget(job_key, tenant, shadow, now_ms, safeguards.budget),
            applications=self._affected(all_matches, now_ms),
            bounds=safeguards.big_picture,
        )
        return decide(match, confirmation, circumstances)

    def _affected(self, matches: Sequence[RuleMatch], now_ms: int) -> AffectedApplications:
        confirmed: set[Run] = {each.scope.run for each in matches if self.findings.confirmation(each.scope, now_ms)}
        return AffectedApplications(self.view.running_applications(now_ms), len(confirmed | self.fuses.open_runs()))

    def _carry_out(self, match: RuleMatch, decision: Decision | None, environment: Environment) -> None:
        confirmation = self.findings.confirmation(match.scope, environment.now_ms())
        if decision is None or confirmation is None:
            return
        mode = self.policy.mode(match.rule)
        if decision.outcome == WOULD_ACT:
            decision = self._unless_silenced(decision, confirmation, mode, environment)
        if decision.outcome == WOULD_ACT:
            self._act(match, confirmation, mode, environment)
        elif self._recorded_checks.get(match.scope) != decision.check:
            self._write(match, confirmation, mode, decision, None, environment)
        self._recorded_checks[match.scope] = decision.check

    def _unless_silenced(
        self, decision: Decision, confirmation: Confirmation, mode: str, environment: Environment
    ) -> Decision:
        try:
            if environment.silenced(confirmation.finding.finding_id):
                return Decision(HELD, "silence", "the alert of the finding is silenced")
        except SilenceUnknownError as error:
            if mode != SHADOW:  # shadow mode acts on nothing, so it does not need the answer
                return Decision(HELD, "alertmanager", f"it is unknown whether the alert is silenced: {error}")
        return decision

    def _act(self, match: RuleMatch, confirmation: Confirmation, mode: str, environment: Environment) -> None:
        rule, now_ms = match.rule, environment.now_ms()
        intent = Decision(WOULD_ACT, "none", evidence(rule, match, confirmation))
        if mode == SHADOW:
            self._write(match, confirmation, mode, intent, None, environment)
            return
        generation = self.fuses.next_generation(match.scope.run.app_id, now_ms)
        signal = make_signal(rule, match, confirmation, mode, generation, now_ms, self._dashboard_url)
        self._write(match, confirmation, mode, intent, signal, environment)
        result = replace(intent, outcome=self._send(signal, environment))
        self._write(match, confirmation, mode, result, signal, environment)

    def _send(self, signal: Signal, environment: Environment) -> str:
        assert self._key is not None, "a mode of warn or act without a key is refused at the start"
        try:
            environment.write_signal(sign(signal, self._key), signal)
        except OSError as error:
            _log.error("signal %s was not sent: %s", signal.signal_id, error)
            return FAILED
        return SENT

    def _write(
        self,
        match: RuleMatch,
        confirmation: Confirmation,
        mode: str,
        decision: Decision,
        signal: Signal | None,
        environment: Environment,
    ) -> None:
        action = make_action(match.rule, match, confirmation, mode, decision, environment.now_ms(), signal)
        environment.write_action(action)
        self.fuses.record(action)
        _log.info("%s %s in mode %s: %s: %s", action.app_id, action.rule, mode, action.outcome, action.reason)
