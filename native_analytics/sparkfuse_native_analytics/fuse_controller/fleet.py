"""The state of all applications in one evaluation of the controller, and the `Case` of each finding.

The case of a finding is everything on which the decision about an act depends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkfuse_native_analytics.fuse_controller.act_registry import SHADOW_MODE, Act, ActRegistry
from sparkfuse_native_analytics.fuse_controller.controller_policy import ControllerPolicy, Variant
from sparkfuse_native_analytics.fuse_controller.controls import ControlBook, Subject
from sparkfuse_native_analytics.fuse_controller.finding_registry import Candidate, FindingRegistry
from sparkfuse_native_analytics.fuse_controller.gates import AffectedApplications, Case, Health
from sparkfuse_native_analytics.fuse_controller.probes import ProbeBook
from sparkfuse_native_analytics.fuse_controller.protected import JobOwner, protection
from sparkfuse_native_analytics.fuse_controller.scope import Run, Scope
from sparkfuse_native_analytics.fuse_controller.silences import Silence, SilencesUnknownError, silence_of
from sparkfuse_native_analytics.fuse_controller.view import LiveView, RuleMatch
from sparkfuse_rules.alert_labels import alert_labels


@dataclass(frozen=True)
class Silences:
    """The active silences, or the reason why they are not known."""

    active: Sequence[Silence] = ()
    unknown: str = ""

    def reason(self, candidate: Candidate, mode: str) -> str | None:
        """Return why a finding is treated as silenced; None if it is not.

        Unknown silences do not matter in shadow mode, because shadow mode stops nothing.
        """
        if self.unknown:
            return None if mode == SHADOW_MODE else f"it is unknown whether the finding is silenced: {self.unknown}"
        if not self.active:
            return None
        try:
            found = silence_of(self.active, alert_labels(candidate.finding))
        except SilencesUnknownError as error:
            return str(error)
        return f"silenced in Alertmanager: {found.comment or found.silence_id}" if found else None


class Fleet:
    """The candidates of one evaluation, and the data that all of their cases share."""

    def __init__(
        self,
        policy: ControllerPolicy,
        view: LiveView,
        findings: FindingRegistry,
        acts: ActRegistry,
        probes: ProbeBook,
        controls: ControlBook,
        health: Health,
        now_ms: int,
    ) -> None:
        self.now_ms = now_ms
        # Acts and controls have the broker's time, so that a wrong local clock changes no cool-down, budget or end.
        self.broker_ms = health.broker_ms(now_ms)
        self._policy, self._acts, self._controls, self._health = policy, acts, controls, health
        self._view, self._probes = view, probes
        self._silences = Silences()
        found = (
            (each, policy.for_job(each.scope.rule, each.finding.job_key))
            for each in findings.candidates(now_ms, policy.scopes())
        )
        self.candidates: Sequence[tuple[Candidate, Variant]] = [(each, own) for each, own in found if own is not None]
        stated = {each.scope: each.run.evidence for each, _ in self.candidates}
        self._matches: Mapping[Scope, Sequence[RuleMatch]] = view.evaluate(now_ms, stated)
        confirmed = [each.scope for each, _ in self.candidates if each.scope in self._matches]
        acts.advance_others({(scope.run, scope.rule) for scope in confirmed}, self.broker_ms, policy.safeguards.times)
        self.applications = self._affected(confirmed, view)

    def use_silences(self, silences: Silences) -> None:
        """Set the silences, which are requested only if a case passes all other gates."""
        self._silences = silences

    def cases(self) -> Iterator[Case]:
        """Yield the case of each candidate.

        A case is created only when it is needed, because an act on an earlier candidate may have spent the budget.
        """
        for candidate, variant in self.candidates:
            yield self._case(candidate, variant)

    def stopped_clusters(self) -> Mapping[str, AffectedApplications]:
        """Return the clusters in which so many applications are affected that nothing is stopped."""
        bounds = self._policy.safeguards.big_picture
        return {name: each for name, each in self.applications.items() if each.exceeds(bounds)}

    def scopes(self) -> set[Scope]:
        """Return the scopes of the candidates."""
        return {candidate.scope for candidate, _ in self.candidates}

    def _affected(self, confirmed: Iterable[Scope], view: LiveView) -> Mapping[str, AffectedApplications]:
        running = view.running_applications(self.now_ms)
        condemned: dict[str, set[Run]] = {}
        for scope in confirmed:
            condemned.setdefault(scope.run.cluster, set()).add(scope.run)
        return {
            cluster: AffectedApplications(
                cluster, running[cluster], len(runs | self._acts.affected(cluster, self.broker_ms))
            )
            for cluster, runs in condemned.items()
        }

    def _case(self, candidate: Candidate, variant: Variant) -> Case:
        scope, safeguards = candidate.scope, self._policy.safeguards
        matches = self._matches.get(scope, ())
        match = next((each for each in matches if each.variant is variant), None)
        mode = self._policy.mode(variant.rule)
        return Case(
            candidate=candidate,
            variant=variant,
            match=match,
            fuse=self._acts.advance(scope.run, scope.rule, match is not None, self.broker_ms, safeguards.times),
            now_ms=self.now_ms,
            health=self._health,
            applications=self.applications.get(scope.run.cluster, AffectedApplications(scope.run.cluster, 0, 0)),
            bounds=safeguards.big_picture,
            protected=self._protection(candidate),
            hold=self._hold(subject_of(candidate)),
            silence=self._silences.reason(candidate, mode),
            over_budget=self._acts.over_budget(
                _planned(candidate, mode, self.broker_ms), self.broker_ms, safeguards.budget_at(self.broker_ms)
            ),
            agreed=self._probes.agreed(scope.run, scope.rule, self.now_ms),
        )

    def _protection(self, candidate: Candidate) -> str | None:
        finding, user = candidate.finding, self._view.user_of(candidate.scope.run)
        owner = JobOwner(finding.job_key, finding.team, finding.tenant, candidate.scope.run.cluster, user)
        return protection(self._policy.safeguards.protected, owner)

    def _hold(self, subject: Subject) -> str | None:
        if found := self._controls.hold(subject, self.broker_ms):
            return found[1]
        holds = self._policy.safeguards.holds
        named = (subject.rule, subject.job_key, subject.app_id)
        covering = (each for each in holds if each.covers(*named, self.broker_ms))
        return next((f"held by sparkfuse.yaml: {each.reason}" for each in covering), None)


def subject_of(candidate: Candidate) -> Subject:
    """Return the properties of a candidate by which holds and armings select it."""
    run = candidate.scope.run
    return Subject(run.cluster, candidate.scope.rule, candidate.finding.job_key, run.app_id)


def _planned(candidate: Candidate, mode: str, now_ms: int) -> Act:
    """Return the act that would be carried out, so that it can be checked against the budgets."""
    finding, scope = candidate.finding, candidate.scope
    return Act("", now_ms, mode, "", scope.run, scope.rule, finding.job_key, finding.tenant, finding.team)
