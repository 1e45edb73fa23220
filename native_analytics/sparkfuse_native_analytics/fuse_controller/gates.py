"""The gates between a firing finding and a signal, in their order.

Each gate is a pure function of one `Case`, so that a test can remove a gate and show what that gate prevents. The first
gate that does not pass decides. Gates about the case itself come before gates about all applications, so that the audit
log shows the most specific reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sparkfuse_native_analytics.fuse_controller.controller_policy import Variant
from sparkfuse_native_analytics.fuse_controller.finding_registry import MAX_AGE_MS, MAX_FUTURE_MS, Candidate
from sparkfuse_native_analytics.fuse_controller.fuse import Fuse, ready
from sparkfuse_native_analytics.fuse_controller.safeguards import BigPicture
from sparkfuse_native_analytics.fuse_controller.view import RuleMatch
from sparkfuse_rules.rule import SEVERITIES

MIN_COMPLETENESS = 0.99
# The hook tolerates three times this difference before it refuses a signal.
MAX_CLOCK_SKEW_MS = 10_000
HELD, OVER_BUDGET, NOT_CONFIRMED = "held", "over_budget", "not_confirmed"


@dataclass(frozen=True)
class AffectedApplications:
    """How many applications of a cluster run, and how many the fuse affects."""

    cluster: str
    running: int
    affected: int

    def exceeds(self, bounds: BigPicture) -> bool:
        """Return whether so many applications are affected that the platform or Sparkfuse is the likely cause."""
        # An affected application counts as running even if the view has no recent row about it.
        running = max(self.running, self.affected)
        return self.affected >= bounds.applications and self.affected > bounds.share * running


@dataclass(frozen=True)
class Health:
    """The health of the controller itself; the controller may act only if its health is good.

    ``behind`` names a partition that was not read to its end; it is empty if all partitions were read.
    ``clock_skew_ms``: the controller's clock minus the broker's, None if it is not known.
    """

    behind: str = ""
    clock_skew_ms: int | None = 0

    def broker_ms(self, now_ms: int) -> int:
        """Return the broker's time when the local clock shows ``now_ms``; ``now_ms`` if the difference is not known."""
        return now_ms - (self.clock_skew_ms or 0)


@dataclass(frozen=True)
class Case:
    """Everything that a decision depends on.

    ``match`` is the match of the rule on the latest row that the controller has read, or None. ``protected``, ``hold``,
    ``silence`` and ``over_budget`` are each a reason for a refusal, or None. ``silence`` is also set if the silences
    are not known. ``agreed``: the hook refused the last act, and has since answered a probe that it would act now.
    """

    candidate: Candidate
    variant: Variant
    match: RuleMatch | None
    fuse: Fuse
    now_ms: int
    health: Health
    applications: AffectedApplications
    bounds: BigPicture
    protected: str | None = None
    hold: str | None = None
    silence: str | None = None
    over_budget: str | None = None
    agreed: bool = False


@dataclass(frozen=True)
class Refusal:
    """The gate that did not pass. ``step`` is the audit record's step; None if nothing is recorded."""

    gate: str
    step: str | None
    reason: str


Gate = Callable[[Case], Refusal | None]
# The gates that refuse every case at the same time.
PAUSING = ("caught_up", "clock")


def unhealthy(health: Health) -> Refusal | None:
    """Return the gate that refuses every case, because the controller is behind or its clock is wrong."""
    return _caught_up(health) or _clock(health)


def caught_up(case: Case) -> Refusal | None:
    """Refuse while a partition is not read to its end: unread records may contain a hold or a finding's end."""
    return _caught_up(case.health)


def clock(case: Case) -> Refusal | None:
    """Refuse if the controller's clock differs from the broker's, because ages and expiries depend on it."""
    return _clock(case.health)


def _caught_up(health: Health) -> Refusal | None:
    return Refusal("caught_up", None, f"the controller is behind: {health.behind}") if health.behind else None


def _clock(health: Health) -> Refusal | None:
    skew = health.clock_skew_ms
    if skew is None:
        return Refusal("clock", None, "the controller's clock was not compared with the broker's yet")
    if abs(skew) > MAX_CLOCK_SKEW_MS:
        return Refusal("clock", None, f"the controller's clock differs by {skew} ms from the broker's")
    return None


def recent_finding(case: Case) -> Refusal | None:
    """Refuse a finding that is no longer republished, or whose time is in the future."""
    age_ms = case.now_ms - case.candidate.finding.updated_ms
    if age_ms > MAX_AGE_MS:
        return Refusal("finding", None, f"the finding was updated {age_ms} ms ago")
    if age_ms < -MAX_FUTURE_MS:
        return Refusal("finding", HELD, f"the finding is {-age_ms} ms in the future")
    return None


def own_view(case: Case) -> Refusal | None:
    """Refuse if the rule does not match on the target's latest row that the controller has read."""
    if case.match is None:
        return Refusal(
            "view", NOT_CONFIRMED, "the rule, or the `when` of its policy, is false for the target's latest row"
        )
    return None


def completeness(case: Case) -> Refusal | None:
    """Refuse incomplete evidence."""
    finding = case.candidate.finding
    of_finding = finding.completeness if finding.HasField("completeness") else 0.0
    least = min(of_finding, case.match.completeness if case.match else 1.0)
    if least < MIN_COMPLETENESS:
        return Refusal("completeness", HELD, f"the evidence is {least:.1%} complete, below {MIN_COMPLETENESS:.0%}")
    return None


def severity(case: Case) -> Refusal | None:
    """Refuse if the severity of the finding, or of the controller's own match, is below the policy's severity."""
    policy = case.variant.rule.fuse
    lowest = SEVERITIES.index(policy.severity if policy else SEVERITIES[0])
    found = [case.candidate.run.severity, *([case.match.severity] if case.match else [])]
    if any(each not in SEVERITIES or SEVERITIES.index(each) > lowest for each in found):
        return Refusal("severity", None, f"the finding is {found[0]}")
    return None


def fuse_ready(case: Case) -> Refusal | None:
    """Refuse while the last act of this run and rule may still take effect, or while it is too early to ask again.

    After a refusal of the hook, only a newer row justifies another question or act.
    """
    if not ready(case.fuse, case.agreed):
        return Refusal("fuse", None, "the last act may still take effect, or the hook refused it a moment ago")
    row_ms = int(case.match.row.get("window_end_ms") or 0) if case.match else 0
    if case.fuse.refusals and row_ms <= case.fuse.evidence_ms:
        return Refusal("fuse", None, "no row is newer than the evidence on which the hook was last asked")
    return None


def protected(case: Case) -> Refusal | None:
    """Refuse an act on a job that sparkfuse.yaml protects."""
    return Refusal("protected", HELD, case.protected) if case.protected is not None else None


def hold(case: Case) -> Refusal | None:
    """Refuse an act that a hold of an operator or of sparkfuse.yaml prevents."""
    return Refusal("hold", HELD, case.hold) if case.hold is not None else None


def silence(case: Case) -> Refusal | None:
    """Refuse if a silence matches the alert, even before the alert exists, or if the silences are not known."""
    return Refusal("silence", HELD, case.silence) if case.silence is not None else None


def big_picture(case: Case) -> Refusal | None:
    """Refuse if so many applications are affected that the platform or Sparkfuse is the likely cause."""
    applications = case.applications
    if not applications.exceeds(case.bounds):
        return None
    counts = f"{applications.affected} of {applications.running} running applications of {applications.cluster}"
    return Refusal("big_picture", None, f"{counts} are affected at once: the likely fault is the platform or Sparkfuse")


def budget(case: Case) -> Refusal | None:
    """Refuse if a budget of the last hour is exhausted."""
    return Refusal("budget", OVER_BUDGET, case.over_budget) if case.over_budget is not None else None


GATES: Mapping[str, Gate] = {
    "caught_up": caught_up,
    "clock": clock,
    "finding": recent_finding,
    "view": own_view,
    "completeness": completeness,
    "severity": severity,
    "fuse": fuse_ready,
    "protected": protected,
    "hold": hold,
    "silence": silence,
    "big_picture": big_picture,
    "budget": budget,
}


def refusal(case: Case, gates: Sequence[Gate] = tuple(GATES.values())) -> Refusal | None:
    """Return the first refusal; None if all gates pass."""
    return next((found for gate in gates if (found := gate(case)) is not None), None)
