"""The gates between a verdict and an act, in their order; pure, so that the reason for every no can be tested."""

from __future__ import annotations

from dataclasses import dataclass

from sparkfuse_native_analytics.fuse_controller.findings import Witness
from sparkfuse_native_analytics.fuse_controller.fuse import Fuse, ready
from sparkfuse_native_analytics.fuse_controller.policy import BigPicture, Hold
from sparkfuse_native_analytics.fuse_controller.verdict import Verdict

MIN_COMPLETENESS = 0.99
CRITICAL = "critical"
WOULD_ACT, HELD, OVER_BUDGET = "would_act", "held", "over_budget"


@dataclass(frozen=True)
class BigPictureNow:
    """How many applications run, and how many of them are condemned or have an open fuse."""

    running: int
    condemned: int

    def alarming(self, bounds: BigPicture) -> bool:
        """Whether so many are condemned at once that the fault is ours or the platform's."""
        # Who is condemned runs, whatever the view has heard of it.
        running = max(self.running, self.condemned)
        return self.condemned >= bounds.applications and self.condemned > bounds.share * running


@dataclass(frozen=True)
class Circumstances:
    """All that is looked at beside the verdict."""

    fuse: Fuse
    hold: Hold | None
    over_budget: str | None
    picture: BigPictureNow
    bounds: BigPicture


@dataclass(frozen=True)
class Decision:
    """would_act, held or over_budget, and why. ``gate`` names what decided: the same gate twice is said once."""

    outcome: str
    gate: str
    reason: str


def decide(verdict: Verdict, witness: Witness | None, now: Circumstances) -> Decision | None:
    """Judge one verdict; None when there is nothing to speak of.

    That is while detection and the fuse controller's own view do not agree, or the last act may still work.

    The order goes from what is about this verdict to what is about all: a reader of the audit sees the nearest reason.
    """
    if witness is None:
        return None
    completeness = min(verdict.completeness, _completeness(witness))
    if completeness < MIN_COMPLETENESS:
        reason = f"the evidence is {completeness:.1%} complete, below {MIN_COMPLETENESS:.0%}"
        return Decision(HELD, "completeness", reason)
    if verdict.severity != CRITICAL or witness.run.severity != CRITICAL or not ready(now.fuse):
        return None
    if now.hold is not None:
        return Decision(HELD, "hold", f"held: {now.hold.reason}")
    if now.picture.alarming(now.bounds):
        reason = f"{now.picture.condemned} of {now.picture.running} running applications are condemned at once"
        return Decision(HELD, "big picture", f"{reason}: the fault is the platform's or ours, so nothing is stopped")
    if now.over_budget is not None:
        return Decision(OVER_BUDGET, "budget", now.over_budget)
    return Decision(WOULD_ACT, "none", "all gates are open")


def _completeness(witness: Witness) -> float:
    finding = witness.finding
    return finding.completeness if finding.HasField("completeness") else 0.0
