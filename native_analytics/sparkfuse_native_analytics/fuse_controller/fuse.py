"""The state machine of the fuse of one application and rule; pure functions, so that a table can test each transition.

closed     no act is in progress; the next match of the rule blows the fuse.
open       the fuse has blown; a second act must wait until the first act has had time to take effect.
half-open  the cool-down is over; the next match blows the fuse again, and a quiet period closes it.
Source of the states: Nygard, Release It!, and resilience4j.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class State(StrEnum):
    """The states of a fuse."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(frozen=True)
class Times:
    """``cool_down_ms``: time from an act to half-open. ``quiet_ms``: time without a match from half-open to closed."""

    cool_down_ms: int = 120_000
    quiet_ms: int = 60_000


@dataclass(frozen=True)
class Fuse:
    """The state, when the state was entered, and when the rule last matched. Times are ms since the epoch."""

    state: State = State.CLOSED
    since_ms: int = 0
    matched_ms: int = 0


def blow(fuse: Fuse, now_ms: int) -> Fuse:
    """Return the fuse after an act, or after an act that the mode only records. Call this only if ready() is true."""
    return replace(fuse, state=State.OPEN, since_ms=now_ms, matched_ms=max(now_ms, fuse.matched_ms))


def ready(fuse: Fuse) -> bool:
    """Whether a match may blow the fuse."""
    return fuse.state is not State.OPEN


def advance(fuse: Fuse, matches: bool, now_ms: int, times: Times) -> Fuse:
    """Return the fuse at ``now_ms``; ``matches`` states whether the rule matches now. Never blows the fuse."""
    seen = replace(fuse, matched_ms=now_ms) if matches else fuse
    if seen.state is State.OPEN and now_ms - seen.since_ms >= times.cool_down_ms:
        # The quiet period starts here: while the fuse was open, the act may have caused the quiet.
        return replace(seen, state=State.HALF_OPEN, since_ms=now_ms)
    quiet_since_ms = max(seen.since_ms, seen.matched_ms)
    if seen.state is State.HALF_OPEN and not matches and now_ms - quiet_since_ms >= times.quiet_ms:
        return replace(seen, state=State.CLOSED, since_ms=now_ms)
    return seen
