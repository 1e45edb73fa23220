"""The fuse controller: evaluates the evidence, decides, records each step before and after, and sends signals."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from sparkfuse_contracts.generated.action_pb2 import Action
from sparkfuse_contracts.generated.signal_pb2 import Signal, SignedSignal
from sparkfuse_native_analytics.fuse_controller.audit_log import evidence, make_action, make_signal
from sparkfuse_native_analytics.fuse_controller.decision import (
    HELD,
    WOULD_ACT,
    BigPictureNow,
    Circumstances,
    Decision,
    decide,
)
from sparkfuse_native_analytics.fuse_controller.findings import FindingBook, Witness
from sparkfuse_native_analytics.fuse_controller.fuse_states import SHADOW, FuseStates
from sparkfuse_native_analytics.fuse_controller.policy_reload import ControllerPolicy
from sparkfuse_native_analytics.fuse_controller.signing import sign
from sparkfuse_native_analytics.fuse_controller.silences import AlertmanagerSilentError
from sparkfuse_native_analytics.fuse_controller.verdict import Run, Scope, Verdict
from sparkfuse_native_analytics.fuse_controller.view import LiveView

SENT, FAILED = "sent", "failed"
_log = logging.getLogger("sparkfuse.fuse_controller")


class Outside(Protocol):
    """What the fuse controller needs of the world; the process gives Kafka and Alertmanager, a test gives lists."""

    def now_ms(self) -> int:
        """The time."""

    def refresh(self) -> None:
        """Take in what has arrived meanwhile: the state is read again at the moment of the act."""

    def silenced(self, finding_id: str) -> bool:
        """Whether the alert is silenced. Raises AlertmanagerSilentError when nobody knows."""

    def write_action(self, action: Action) -> None:
        """Write a step and wait until it is kept. Raises OSError when it is not."""

    def write_signal(self, signed: SignedSignal, signal: Signal) -> None:
        """Send a signal and wait until it is kept. Raises OSError when it is not."""


class FuseController:
    """One controller for all applications; called by one thread."""

    def __init__(
        self, orders: ControllerPolicy, view: LiveView, key: EllipticCurvePrivateKey | None, dashboard_url: str
    ) -> None:
        """``key``: may be None only as long as no mode is warn or act."""
        self.view = view
        self.findings = FindingBook()
        self.states = FuseStates()
        self._key = key
        self._dashboard_url = dashboard_url
        self._said: dict[Scope, str] = {}
        self.use(orders)

    def use(self, orders: ControllerPolicy) -> None:
        """Follow these orders from now on."""
        self.orders = orders
        self.view.use(orders.watched())

    def look(self, outside: Outside) -> None:
        """Judge all stages once, and act where every gate is open."""
        verdicts = self._verdicts(outside.now_ms())
        ready = [(verdict, self._decide(verdict, verdicts, outside)) for verdict in verdicts]
        if any(decision and decision.outcome == WOULD_ACT for _, decision in ready):
            outside.refresh()
            verdicts = self._verdicts(outside.now_ms())
            # One by one, because each act spends budget and blows a fuse.
            for verdict in verdicts:
                self._carry_out(verdict, self._decide(verdict, verdicts, outside), outside)
        else:
            for verdict, decision in ready:
                self._carry_out(verdict, decision, outside)
        self._said = {scope: gate for scope, gate in self._said.items() if scope in {v.scope for v in verdicts}}

    def _verdicts(self, now_ms: int) -> list[Verdict]:
        verdicts = [verdict for verdict in self.view.condemned(now_ms) if self._is_for(verdict, now_ms)]
        condemned = {(verdict.scope.run, verdict.scope.rule) for verdict in verdicts}
        self.states.rest(condemned, now_ms, self.orders.policy.times)
        return verdicts

    def _is_for(self, verdict: Verdict, now_ms: int) -> bool:
        """Whether the rule is set so for the job; detection knows whose stage it is, and without it nothing is done."""
        witness = self.findings.witness(verdict.scope, now_ms)
        return witness is None or self.orders.for_job(verdict.rule.id, witness.finding.job_key) == verdict.rule

    def _decide(self, verdict: Verdict, all_verdicts: Sequence[Verdict], outside: Outside) -> Decision | None:
        now_ms, scope, policy = outside.now_ms(), verdict.scope, self.orders.policy
        witness = self.findings.witness(scope, now_ms)
        job_key = witness.finding.job_key if witness else ""
        tenant = str(verdict.row.get("tenant") or "")
        shadow = self.orders.mode(verdict.rule) == SHADOW
        holds = (hold for hold in policy.holds if hold.covers(scope.rule, job_key, scope.run.app_id, now_ms))
        circumstances = Circumstances(
            fuse=self.states.look(scope.run, scope.rule, True, now_ms, policy.times),
            hold=next(holds, None),
            over_budget=self.states.over_budget(job_key, tenant, shadow, now_ms, policy.budget),
            picture=self._picture(all_verdicts, now_ms),
            bounds=policy.big_picture,
        )
        return decide(verdict, witness, circumstances)

    def _picture(self, verdicts: Sequence[Verdict], now_ms: int) -> BigPictureNow:
        condemned: set[Run] = {v.scope.run for v in verdicts if self.findings.witness(v.scope, now_ms)}
        return BigPictureNow(self.view.running_applications(now_ms), len(condemned | self.states.open_runs()))

    def _carry_out(self, verdict: Verdict, decision: Decision | None, outside: Outside) -> None:
        witness = self.findings.witness(verdict.scope, outside.now_ms())
        if decision is None or witness is None:
            return
        mode = self.orders.mode(verdict.rule)
        if decision.outcome == WOULD_ACT:
            decision = self._unless_silenced(decision, witness, mode, outside)
        if decision.outcome == WOULD_ACT:
            self._act(verdict, witness, mode, outside)
        elif self._said.get(verdict.scope) != decision.gate:
            self._write(verdict, witness, mode, decision, None, outside)
        self._said[verdict.scope] = decision.gate

    def _unless_silenced(self, decision: Decision, witness: Witness, mode: str, outside: Outside) -> Decision:
        try:
            if outside.silenced(witness.finding.finding_id):
                return Decision(HELD, "silence", "the alert of the finding is silenced")
        except AlertmanagerSilentError as error:
            if mode != SHADOW:  # the shadow harms nobody
                return Decision(HELD, "alertmanager", f"nobody knows whether the alert is silenced: {error}")
        return decision

    def _act(self, verdict: Verdict, witness: Witness, mode: str, outside: Outside) -> None:
        rule, now_ms = verdict.rule, outside.now_ms()
        intent = Decision(WOULD_ACT, "none", evidence(rule, verdict))
        if mode == SHADOW:
            self._write(verdict, witness, mode, intent, None, outside)
            return
        generation = self.states.next_generation(verdict.scope.run.app_id, now_ms)
        signal = make_signal(rule, verdict, witness, mode, generation, now_ms, self._dashboard_url)
        self._write(verdict, witness, mode, intent, signal, outside)
        self._write(verdict, witness, mode, replace(intent, outcome=self._send(signal, outside)), signal, outside)

    def _send(self, signal: Signal, outside: Outside) -> str:
        assert self._key is not None, "a mode of warn or act without a key is refused at the start"
        try:
            outside.write_signal(sign(signal, self._key), signal)
        except OSError as error:
            _log.error("signal %s was not sent: %s", signal.signal_id, error)
            return FAILED
        return SENT

    def _write(
        self, verdict: Verdict, witness: Witness, mode: str, decision: Decision, signal: Signal | None, outside: Outside
    ) -> None:
        action = make_action(verdict.rule, verdict, witness, mode, decision, outside.now_ms(), signal)
        outside.write_action(action)
        self.states.record(action)
        _log.info("%s %s in mode %s: %s: %s", action.app_id, action.rule, mode, action.outcome, action.reason)
