"""The fuse of one application and rule: closed, open or half-open; pure, so that every transition is a line of a table.

closed     nothing is wrong; blows at the first verdict.
open       it has blown: no second act while the first one works and its receipt is on the way.
half-open  the act had its time; blows again at the next verdict, and closes after a while without one.
Source of the states: Nygard, Release It!, and resilience4j.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class State(StrEnum):
    """Where the fuse stands."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(frozen=True)
class Times:
    """How long the fuse rests after it blew, and how long it must stay quiet before it closes."""

    cool_down_ms: int = 120_000
    quiet_ms: int = 60_000


@dataclass(frozen=True)
class Fuse:
    """The state, since when, and when it was last condemned."""

    state: State = State.CLOSED
    since_ms: int = 0
    condemned_ms: int = 0


def blow(fuse: Fuse, now_ms: int) -> Fuse:
    """The fuse after an act, or after an act was written down that a mode forbids; only ever from ready()."""
    return replace(fuse, state=State.OPEN, since_ms=now_ms, condemned_ms=max(now_ms, fuse.condemned_ms))


def ready(fuse: Fuse) -> bool:
    """Whether a verdict may blow it."""
    return fuse.state is not State.OPEN


def look(fuse: Fuse, condemned: bool, now_ms: int, times: Times) -> Fuse:
    """The fuse after a look at the evidence; time passes, and a verdict is remembered, but nothing blows here."""
    seen = replace(fuse, condemned_ms=now_ms) if condemned else fuse
    if seen.state is State.OPEN and now_ms - seen.since_ms >= times.cool_down_ms:
        # Quiet is counted from here on: while it was open the act may have been what kept it quiet.
        return replace(seen, state=State.HALF_OPEN, since_ms=now_ms)
    quiet_since_ms = max(seen.since_ms, seen.condemned_ms)
    if seen.state is State.HALF_OPEN and not condemned and now_ms - quiet_since_ms >= times.quiet_ms:
        return replace(seen, state=State.CLOSED, since_ms=now_ms)
    return seen
