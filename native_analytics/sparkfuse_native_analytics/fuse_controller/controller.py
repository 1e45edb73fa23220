"""The fuse controller: evaluates findings of rules with a fuse, decides, and writes each step to the audit log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_native_analytics.fuse_controller import records
from sparkfuse_native_analytics.fuse_controller.act_registry import (
    ACT_MODE,
    RECHECKED,
    SENT,
    SHADOW_MODE,
    WARN_MODE,
    WOULD_ACT,
)
from sparkfuse_native_analytics.fuse_controller.approvals import REQUESTED, ApprovalBook
from sparkfuse_native_analytics.fuse_controller.audit_log import AuditLog
from sparkfuse_native_analytics.fuse_controller.controller_policy import ControllerPolicy, Variant
from sparkfuse_native_analytics.fuse_controller.controls import ControlBook
from sparkfuse_native_analytics.fuse_controller.environment import Environment
from sparkfuse_native_analytics.fuse_controller.finding_registry import Candidate, FindingRegistry
from sparkfuse_native_analytics.fuse_controller.fleet import Fleet, Silences, subject_of
from sparkfuse_native_analytics.fuse_controller.gates import GATES, Case, Gate, refusal
from sparkfuse_native_analytics.fuse_controller.keys import KeyRing
from sparkfuse_native_analytics.fuse_controller.ladder import next_action
from sparkfuse_native_analytics.fuse_controller.outcomes import OutcomeBook
from sparkfuse_native_analytics.fuse_controller.probes import PROBED
from sparkfuse_native_analytics.fuse_controller.recorded_refusals import Pauses, RecordedRefusals
from sparkfuse_native_analytics.fuse_controller.records import Step, Target
from sparkfuse_native_analytics.fuse_controller.replays import replayed_runs
from sparkfuse_native_analytics.fuse_controller.scope import Run
from sparkfuse_native_analytics.fuse_controller.signing import target_digest
from sparkfuse_native_analytics.fuse_controller.silences import SilencesUnknownError
from sparkfuse_native_analytics.fuse_controller.view import Ending, LiveView, RunningWork
from sparkfuse_rules.rule import EXTERNAL_STOP, WARN

STARTED, BIG_PICTURE = "started", "big_picture"
# Largest number of targets that one evaluation considers for probes; those that have run longest come first.
PROBE_CANDIDATES = 1_000


class FuseController:
    """One controller for all applications; not safe to share between threads."""

    def __init__(
        self,
        policy: ControllerPolicy,
        view: LiveView,
        keys: KeyRing,
        signing_key: EllipticCurvePrivateKey | None,
        page_of: Callable[[str], str],
        gates: Mapping[str, Gate] = GATES,
    ) -> None:
        """Create a controller. ``keys`` verify controls and approvals; without ``signing_key`` no signal is sent.

        ``page_of`` returns the address of the page about an application.
        """
        self.view = view
        self.controls = ControlBook(keys)
        self.approvals = ApprovalBook(keys, lambda: self.controls.revoked_keys)
        self.audit = AuditLog(self.approvals, signing_key)
        self.findings = FindingRegistry()
        self.outcomes = OutcomeBook()
        self.stopped_clusters: frozenset[str] = frozenset()
        self._gates = tuple(gates.values())
        self._page_of = page_of
        self._refusals = RecordedRefusals()
        self._pauses = Pauses()
        self.use(policy)

    def use(self, policy: ControllerPolicy) -> None:
        """Replace the policy."""
        self.policy = policy
        self.view.use(policy.watched())

    def read_receipt(self, receipt: Receipt) -> None:
        """Add a receipt. The receipt is only a hint about a probe or an act, and never spends a budget."""
        self.audit.probes.answer(receipt)
        self.outcomes.hint(receipt)

    def read_ending(self, ending: Ending, now_ms: int) -> None:
        """Add the end of a run of ``watched_runs``, or the end of one of its stages."""
        self.audit.probes.end(ending, now_ms)
        self.outcomes.end(ending)

    def watched_runs(self) -> set[Run]:
        """Return the runs whose end the controller waits for: runs with an unverified act or an unscored probe."""
        acts = self.audit.acts
        return self.audit.probes.runs() | {act.run for act in (*acts.unverified(), *acts.unconfirmed())}

    def start(self, environment: Environment) -> None:
        """Begin a new epoch, after the whole audit log was read. Raises OSError or FencedError."""
        reason = f"the fuse controller started with {len(self.policy.watched())} policies"
        self.audit.start(environment, records.controller_record(STARTED, reason, environment.now_ms()))

    def evaluate(self, environment: Environment) -> None:
        """Verify earlier acts, score probes, and decide about all candidates once. Raises OSError or FencedError."""
        self._record_orders(environment)
        # A probe of a run on which the fuse acted has its own score, so acts are verified first.
        self._verify_acts(environment)
        self._score_probes(environment)
        fleet = self._fleet(environment)
        if any(refusal(case, self._gates) is None for case in fleet.cases()):
            environment.refresh()
            fleet = self._fleet(environment)
            fleet.use_silences(_silences(environment))
        self._record_stopped_clusters(fleet, environment)
        refused = [record for case in fleet.cases() for record in self._carry_out(case, environment)]
        self.audit.write(environment, refused)
        self._refusals.written(fleet.scopes())
        self._record_pause(environment, prevents=bool(fleet.candidates))

    def probe(self, environment: Environment) -> None:
        """Probe running work for which no finding fires, as the control sample in the record of probes.

        Raises OSError or FencedError.
        """
        now_ms = environment.now_ms()
        self.audit.probes.forget(now_ms)
        if not self.audit.can_sign or environment.health().behind:
            return
        left = self.audit.probes.budget(now_ms)
        for variant in self.policy.watched():
            for work in self._work_to_probe(variant, now_ms, left):
                self._probe_work(variant, work, environment)
                left -= 1

    def _fleet(self, environment: Environment) -> Fleet:
        return Fleet(
            self.policy,
            self.view,
            self.findings,
            self.audit.acts,
            self.audit.probes,
            self.controls,
            environment.health(),
            environment.now_ms(),
        )

    def _carry_out(self, case: Case, environment: Environment) -> Iterator[AuditRecord]:
        """Act on a case that passes all gates; for other cases, yield a record if the gate that refuses has changed."""
        refused, scope = refusal(case, self._gates), case.candidate.scope
        if refused is None:
            self._act(case, environment)
        if self._refusals.is_new(scope, refused, case.now_ms) and refused and refused.step:
            mode, policy = self.policy.mode(case.variant.rule), case.variant.rule.fuse
            step = Step(refused.step, mode, policy.actions[0] if policy else WARN, refused.reason, refused.gate)
            yield records.case_record(case, step, environment.now_ms())

    def _act(self, case: Case, environment: Environment) -> None:
        now_ms = environment.now_ms()
        mode, action, note = self._plan(case, environment.health().broker_ms(now_ms))
        if action is None:
            return
        reason = records.evidence(case) + (f" ({note})" if note else "")
        step = Step(WOULD_ACT if mode == SHADOW_MODE else SENT, mode, action, reason)
        # A policy that only warns needs no arming, so it needs no probes.
        if (mode == SHADOW_MODE and action == WARN) or not self.audit.can_sign:
            self.audit.write(environment, [records.case_record(case, step, now_ms)])
            return
        # The signal has the time at which the case was evaluated: if the process pauses before it writes, the signal
        # expires.
        # After a refusal the hook is asked first, because a signal that it refuses would spend a budget for nothing.
        recheck = mode == ACT_MODE and case.fuse.refusals > 0 and not case.agreed
        signal = self._signal(records.target_of(case), action, case.now_ms, probe=mode == SHADOW_MODE or recheck)
        records.describe_signal(signal, case, self._page_of(signal.app_id))
        if recheck:
            asked = Step(RECHECKED, mode, action, reason)
            self.audit.write(environment, [records.case_record(case, asked, now_ms, signal)], signal)
            return
        if mode == ACT_MODE and action != WARN and case.variant.rule.fuse and case.variant.rule.fuse.approval:
            approved = self._approved(case, signal, step, environment)
            if approved is None:
                return
            step = approved
        self.audit.write(environment, [records.case_record(case, step, now_ms, signal)], signal)

    def _plan(self, case: Case, broker_ms: int) -> tuple[str, str | None, str]:
        """Return the mode for the case, the action (None if the ladder does not advance), and a note."""
        policy, mode, scope = case.variant.rule.fuse, self.policy.mode(case.variant.rule), case.candidate.scope
        assert policy is not None, "only rules with a fuse are candidates"
        if mode == WARN_MODE:
            return mode, WARN, ""
        target = records.target_of(case)
        actions = [action for action in policy.actions if _has_target(action, target)]
        if mode == SHADOW_MODE:
            return mode, next((action for action in actions if action != WARN), WARN), ""
        action = next_action(actions, self.audit.acts.of_target(scope, mode))
        if action in (None, WARN):
            return mode, action, ""
        unarmed = self.unarmed(case.variant, case.candidate, action, broker_ms)
        return (SHADOW_MODE, action, f"not armed: {unarmed}") if unarmed else (mode, action, "")

    def unarmed(self, variant: Variant, candidate: Candidate, action: str, broker_ms: int) -> str | None:
        """Return why a rule must not stop this application with this action; None if an arming allows it."""
        subject = subject_of(candidate)
        armings = self.controls.armings(subject, action, broker_ms)
        if not armings:
            return f"no arming allows {action} for {subject.rule} and the job {subject.job_key!r}"
        record = self.audit.probe_records.of(variant.rule.id, variant.policy_hash)
        replayed = replayed_runs(armings, variant.policy_hash, broker_ms)
        return record.shortfall(self.policy.safeguards.arming, replayed)

    def _approved(self, case: Case, signal: Signal, step: Step, environment: Environment) -> Step | None:
        """Attach a person's approval to the signal; if there is no approval, request it once and return None."""
        digest, now_ms = target_digest(signal), environment.now_ms()
        found = self.approvals.find(digest, environment.health().broker_ms(now_ms))
        if found is None:
            if not self.approvals.is_requested(digest, now_ms):
                requested = Step(REQUESTED, step.mode, step.action, step.reason, digest=digest)
                self.audit.write(environment, [records.case_record(case, requested, now_ms)])
            return None
        approval, signed = found
        signal.approval.CopyFrom(signed)
        return Step(step.step, step.mode, step.action, step.reason, digest=digest, approval_id=approval.approval_id)

    def _signal(self, target: Target, action: str, now_ms: int, *, probe: bool) -> Signal:
        generation, epoch = self.audit.next_generation(), self.audit.epoch
        return records.make_signal(target, action, generation, epoch, now_ms, probe=probe)

    def _work_to_probe(self, variant: Variant, now_ms: int, left: int) -> Iterator[RunningWork]:
        """Yield running work to probe if the rule can stop work; a policy that only warns needs no record of probes."""
        if variant.rule.fuse is None or not variant.rule.fuse.stops:
            return
        if EXTERNAL_STOP in variant.rule.fuse.stops:
            left = min(left, self.audit.probes.external_budget(now_ms))
        firing = {
            each.scope.run
            for each in self.findings.candidates(now_ms, self.policy.scopes())
            if each.scope.rule == variant.rule.id
        }
        asked: set[Run] = set()
        for work in self.view.running_work(variant.rule, now_ms, PROBE_CANDIDATES):
            if len(asked) >= left:
                return
            run = work.scope.run
            if run in asked | firing or not self.audit.probes.due(run, variant.rule.id, now_ms):
                continue
            asked.add(run)
            yield work

    def _probe_work(self, variant: Variant, work: RunningWork, environment: Environment) -> None:
        now_ms, scope = environment.now_ms(), work.scope
        # Without a finding the job is not known, so holds on the job are not checked. A probe without this check is
        # safe, because a probe stops nothing.
        target = Target(scope.run, "", scope.rule, variant.policy_hash, scope.stage, scope.query_id, scope.task_id)
        policy = variant.rule.fuse
        action = next((each for each in policy.stops if _has_target(each, target)), None) if policy else None
        if action is None:
            return
        signal = self._signal(target, action, now_ms, probe=True)
        record = records.probe_record(target, signal, PROBED, self.policy.mode(variant.rule), work.tenant, now_ms)
        self.audit.write(environment, [record], signal)

    def _record_orders(self, environment: Environment) -> None:
        """Record each new hold, arming and release with the name of the person who ordered it."""
        new = [control for control in self.controls.orders() if not self.audit.knows_order(control)]
        self.audit.write(environment, [records.order_record(control, environment.now_ms()) for control in new])

    def _score_probes(self, environment: Environment) -> None:
        now_ms = environment.now_ms()
        complete = self.audit.probes.complete()
        self.audit.write(environment, [records.score_record(probe, now_ms) for probe in complete])

    def _verify_acts(self, environment: Environment) -> None:
        """Record the outcome of each act that has one now, and each outcome that a later receipt changes."""
        now_ms, times = environment.now_ms(), self.policy.safeguards.times
        open_acts, unconfirmed = self.audit.acts.unverified(), self.audit.acts.unconfirmed()
        self.outcomes.keep([*open_acts, *unconfirmed])
        broker_ms = environment.health().broker_ms(now_ms)
        known = [(act, self.outcomes.of(act, broker_ms, times)) for act in open_acts]
        known += [(act, self.outcomes.changed(act)) for act in unconfirmed]
        verified = [records.verified_record(act, found, now_ms) for act, found in known if found]
        self.audit.write(environment, verified)

    def _record_pause(self, environment: Environment, *, prevents: bool) -> None:
        """Record the beginning and the end of a time in which the controller acts for no application."""
        now_ms = environment.now_ms()
        change = self._pauses.change(environment.health(), now_ms, prevents=prevents)
        if change is not None:
            record = records.controller_record(change.step, change.reason, now_ms, gate=change.gate)
            self.audit.write(environment, [record])
            self._pauses.recorded(change, now_ms)

    def _record_stopped_clusters(self, fleet: Fleet, environment: Environment) -> None:
        stopped = fleet.stopped_clusters()
        new = [
            records.controller_record(
                BIG_PICTURE,
                f"{each.affected} of {each.running} running applications are affected at once, so nothing is stopped",
                fleet.now_ms,
                name,
                BIG_PICTURE,
            )
            for name, each in stopped.items()
            if name not in self.stopped_clusters
        ]
        self.audit.write(environment, new)
        self.stopped_clusters = frozenset(stopped)


def _silences(environment: Environment) -> Silences:
    try:
        return Silences(environment.silences())
    except SilencesUnknownError as error:
        return Silences(unknown=str(error))


def _has_target(action: str, target: Target) -> bool:
    """Return whether the target contains the stage, query or task that the action needs."""
    needed = {"kill_task": target.task_id, "cancel_query": target.query_id, "cancel_stage": target.stage}
    return action not in needed or needed[action] is not None
