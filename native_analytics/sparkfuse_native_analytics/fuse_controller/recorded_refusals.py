"""Decides which refusals of the gates are written to the audit log, so that no evaluation repeats a record."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

from sparkfuse_native_analytics.fuse_controller.gates import NOT_CONFIRMED, PAUSING, Health, Refusal, unhealthy
from sparkfuse_native_analytics.fuse_controller.scope import Scope

PAUSED, RESUMED = "paused", "resumed"
# A finding and the row that it is about arrive a few seconds apart, so only a longer disagreement is recorded.
NOT_CONFIRMED_MS = 30_000
# The shortest time between two records of a pause, so that a clock near its limit cannot fill the audit log.
PAUSE_MS = 60_000


class RecordedRefusals:
    """The gate that each case was last refused by."""

    def __init__(self) -> None:
        self._gates: dict[Scope, str] = {}
        self._unwritten: dict[Scope, str] = {}
        self._not_confirmed_ms: dict[Scope, int] = {}

    def is_new(self, scope: Scope, refused: Refusal | None, now_ms: int) -> bool:
        """Return whether the refusal of this case must be recorded; a gate without a step is never recorded.

        A pause of the whole controller does not change what is known about the case.
        """
        if refused is not None and refused.gate in PAUSING:
            return False
        step = refused.step if refused else None
        if step != NOT_CONFIRMED:
            self._not_confirmed_ms.pop(scope, None)
        elif now_ms - self._not_confirmed_ms.setdefault(scope, now_ms) < NOT_CONFIRMED_MS:
            return False
        gate = refused.gate if refused else ""
        self._unwritten[scope] = gate
        return step is not None and gate != self._gates.get(scope)

    def written(self, scopes: AbstractSet[Scope]) -> None:
        """Remember the refusals, after their records were written, of the cases whose finding fires."""
        gates = self._gates | self._unwritten
        self._gates = {scope: gate for scope, gate in gates.items() if scope in scopes}
        self._unwritten = {}
        self._not_confirmed_ms = {scope: ms for scope, ms in self._not_confirmed_ms.items() if scope in scopes}


class Change(NamedTuple):
    """The beginning or the end of a pause of the whole controller."""

    step: str
    gate: str
    reason: str


class Pauses:
    """Whether the controller acts for no application, because it is behind or its clock is wrong.

    A pause is recorded once for the controller instead of once for each application, because it can affect thousands.
    """

    def __init__(self) -> None:
        self._gate = ""
        self._recorded_ms: int | None = None

    def change(self, health: Health, now_ms: int, *, prevents: bool) -> Change | None:
        """Return the change to record, or None. A pause is recorded only if it ``prevents`` the evaluation of a case.

        Call `recorded` after the change was written.
        """
        refused = unhealthy(health)
        if refused is None:
            return Change(RESUMED, self._gate, "the controller evaluates findings again") if self._gate else None
        recent = self._recorded_ms is not None and now_ms - self._recorded_ms < PAUSE_MS
        if not prevents or refused.gate == self._gate or recent:
            return None
        return Change(PAUSED, refused.gate, f"no finding is evaluated: {refused.reason}")

    def recorded(self, change: Change, now_ms: int) -> None:
        """Remember that a change was written."""
        self._gate = change.gate if change.step == PAUSED else ""
        if change.step == PAUSED:
            self._recorded_ms = now_ms
