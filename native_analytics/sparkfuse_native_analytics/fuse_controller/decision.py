"""The checks between a rule match and an act, in their order. Pure, so that each reason for a refusal can be tested."""

from __future__ import annotations

from dataclasses import dataclass

from sparkfuse_native_analytics.fuse_controller.finding_registry import Confirmation
from sparkfuse_native_analytics.fuse_controller.fuse import Fuse, ready
from sparkfuse_native_analytics.fuse_controller.rule_match import RuleMatch
from sparkfuse_native_analytics.fuse_controller.safeguards import BigPicture, Hold

MIN_COMPLETENESS = 0.99
CRITICAL = "critical"
WOULD_ACT, HELD, OVER_BUDGET = "would_act", "held", "over_budget"


@dataclass(frozen=True)
class AffectedApplications:
    """How many applications run, and how many of them have a confirmed match or an open fuse."""

    running: int
    affected: int

    def exceeds(self, bounds: BigPicture) -> bool:
        """Whether so many applications are affected at once that the platform or Sparkfuse is the likely fault."""
        # An affected application runs, even if the view has no recent row of it.
        running = max(self.running, self.affected)
        return self.affected >= bounds.applications and self.affected > bounds.share * running


@dataclass(frozen=True)
class Circumstances:
    """Everything that a decision depends on beside the match itself."""

    fuse: Fuse
    hold: Hold | None
    over_budget: str | None
    applications: AffectedApplications
    bounds: BigPicture


@dataclass(frozen=True)
class Decision:
    """The outcome (would_act, held or over_budget) and its reason.

    ``check`` names the check that decided. While it stays the same, the decision is recorded only once.
    """

    outcome: str
    check: str
    reason: str


def decide(match: RuleMatch, confirmation: Confirmation | None, now: Circumstances) -> Decision | None:
    """Decide about one match.

    Returns None if detection does not confirm the match, or if the last act may still take effect.
    Checks of this match come before checks of all applications, so that the audit log shows the closest reason.
    """
    if confirmation is None:
        return None
    completeness = min(match.completeness, _completeness(confirmation))
    if completeness < MIN_COMPLETENESS:
        reason = f"the evidence is {completeness:.1%} complete, below {MIN_COMPLETENESS:.0%}"
        return Decision(HELD, "completeness", reason)
    if match.severity != CRITICAL or confirmation.run.severity != CRITICAL or not ready(now.fuse):
        return None
    if now.hold is not None:
        return Decision(HELD, "hold", f"held: {now.hold.reason}")
    if now.applications.exceeds(now.bounds):
        counts = f"{now.applications.affected} of {now.applications.running} running applications are affected at once"
        reason = f"{counts}: the likely fault is the platform or Sparkfuse, so nothing is stopped"
        return Decision(HELD, "big picture", reason)
    if now.over_budget is not None:
        return Decision(OVER_BUDGET, "budget", now.over_budget)
    return Decision(WOULD_ACT, "none", "all checks passed")


def _completeness(confirmation: Confirmation) -> float:
    finding = confirmation.finding
    return finding.completeness if finding.HasField("completeness") else 0.0
