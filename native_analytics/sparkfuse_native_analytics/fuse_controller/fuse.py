"""The state machine of the fuse of one application and rule; pure functions, so that a table can test each transition.

closed     no act is in progress; the next match of the rule blows the fuse.
open       the fuse has blown; a second act must wait until the first act has had time to take effect.
refused    the hook refused the last act, or was asked again; nothing is in progress, so only a back-off is needed.
half-open  the cool-down or the back-off is over; the next match blows the fuse again, and a quiet period closes it.
Source of the states: Nygard, Release It!, and resilience4j.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class State(StrEnum):
    """The states of a fuse."""

    CLOSED = "closed"
    OPEN = "open"
    REFUSED = "refused"
    HALF_OPEN = "half-open"


@dataclass(frozen=True)
class Times:
    """``cool_down_ms``: time from an act to half-open. ``quiet_ms``: time without a match from half-open to closed.

    ``retry_ms``: time from the first refusal to half-open; it doubles with each further refusal, up to the cool-down.
    """

    cool_down_ms: int = 120_000
    quiet_ms: int = 60_000
    retry_ms: int = 10_000

    def back_off_ms(self, refusals: int) -> int:
        """Return the time from the given number of consecutive refusals to half-open."""
        # 2**16 exceeds every ratio of cool-down to retry time, and keeps the number small.
        return min(self.cool_down_ms, self.retry_ms << min(max(refusals - 1, 0), 16))


@dataclass(frozen=True)
class Fuse:
    """The state, when the state was entered, and when the rule last matched. Times are ms since the epoch.

    ``refusals``: consecutive refusals and later questions to the hook. ``evidence_ms``: end of the window of the row on
    which the last act or question was based.
    """

    state: State = State.CLOSED
    since_ms: int = 0
    matched_ms: int = 0
    refusals: int = 0
    evidence_ms: int = 0


def blow(fuse: Fuse, now_ms: int, evidence_ms: int = 0) -> Fuse:
    """Return the fuse after an act, or after an act that the mode only records. Call this only if ready() is true."""
    return replace(
        fuse, state=State.OPEN, since_ms=now_ms, matched_ms=max(now_ms, fuse.matched_ms), evidence_ms=evidence_ms
    )


def refuse(fuse: Fuse, now_ms: int) -> Fuse:
    """Return the fuse after the hook has refused the last act before it stopped anything."""
    return replace(fuse, state=State.REFUSED, since_ms=now_ms, refusals=fuse.refusals + 1)


def ask(fuse: Fuse, now_ms: int, evidence_ms: int) -> Fuse:
    """Return the fuse after a probe that asks the hook whether it would act now, although it refused the last act."""
    return replace(refuse(fuse, now_ms), evidence_ms=evidence_ms)


def settle(fuse: Fuse, acted_ms: int) -> Fuse:
    """Return the fuse after an act that was not refused, or whose refusal is contradicted by another receipt."""
    if fuse.refusals and fuse.state is not State.CLOSED:
        return replace(fuse, state=State.OPEN, since_ms=acted_ms, refusals=0)
    return fuse


def ready(fuse: Fuse, agreed: bool = False) -> bool:
    """Whether a match may blow the fuse; ``agreed``: the hook has answered since its refusal that it would act."""
    return fuse.state in (State.CLOSED, State.HALF_OPEN) or (agreed and fuse.state is State.REFUSED)


def advance(fuse: Fuse, matches: bool, now_ms: int, times: Times) -> Fuse:
    """Return the fuse at ``now_ms``; ``matches`` states whether the rule matches now. Never blows the fuse."""
    seen = replace(fuse, matched_ms=now_ms) if matches else fuse
    if seen.state is State.OPEN and now_ms - seen.since_ms >= times.cool_down_ms:
        # The quiet period starts here: while the fuse was open, the act may have caused the quiet.
        return replace(seen, state=State.HALF_OPEN, since_ms=now_ms)
    if seen.state is State.REFUSED and now_ms - seen.since_ms >= times.back_off_ms(seen.refusals):
        return replace(seen, state=State.HALF_OPEN, since_ms=now_ms)
    quiet_since_ms = max(seen.since_ms, seen.matched_ms)
    if seen.state is State.HALF_OPEN and not matches and now_ms - quiet_since_ms >= times.quiet_ms:
        return replace(seen, state=State.CLOSED, since_ms=now_ms, refusals=0)
    return seen
