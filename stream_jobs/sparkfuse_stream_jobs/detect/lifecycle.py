"""Lifecycle: turns rows on which rules hold into findings that begin, go on and resolve, one run at a time.

The states and their names are those of Prometheus' alerting rules: inactive, pending (``for``), firing, and
``keep_firing_for`` after the last evaluation that held. Time is the end of the windows, so an outage of the windows
job passes no time and resolves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.training_samples import capped_severity
from sparkfuse_stream_jobs.detect.memory import Cell, Shelf
from sparkfuse_stream_jobs.detect.scopes import (
    APPLICATION,
    EVENTS,
    ends_units,
    is_event_unit,
    part_of_unit,
    unit_name,
    units_that_end,
)

SEVERITIES = ("info", "warning", "critical")
# A thing that has no row for this many windows is gone, as a series is that Prometheus no longer scrapes.
STALE_WINDOWS = 3
# So often the newest evidence of what fires is passed on, beside each change: it is sent to people every minute, and a
# fleet has hundreds of stages on which some information holds for as long as they run.
EVIDENCE_EVERY_MS = 30_000
# One run may hold this many things under watch at once; a thousand stuck tasks of a stage are one finding anyway.
MAX_UNITS = 500


class RuleTimes(Protocol):
    """What the lifecycle needs to know of a rule."""

    @property
    def view(self) -> str:
        """The view it looks at."""

    @property
    def for_ms(self) -> int:
        """How long it must hold before it fires."""

    @property
    def keep_firing_ms(self) -> int:
        """How long it fires on after it last held."""

    @property
    def absence(self) -> bool:
        """Whether its evidence is that something is not there, so that lost facts speak for it."""


@dataclass(frozen=True)
class Holding:
    """One rule that holds, or held lately, for one thing. Times are ends of windows in ms."""

    severity: str
    since_ms: int  # first evaluation of this spell that held
    held_ms: int  # last evaluation that held
    row_ms: int  # last row of the thing
    started_ms: int | None = None  # when it began to fire; None while pending
    over: bool = False  # the thing ended, no row will follow
    finding: bytes = b""  # the Finding of this run as it was passed on last, while it fires
    row: bytes = b""  # a newer LiveRow that held, to be worded only if it is the last: that takes ten times as long
    part: str = ""  # which part of the thing it last held for; rows of others do not end it
    told_ms: int = 0  # the row whose evidence was passed on last


@dataclass(frozen=True)
class Unit:
    """One thing of a run, and the rules that hold for it. ``settled`` are rules that fired and resolved at its end."""

    holdings: Mapping[str, Holding] = field(default_factory=dict)
    settled: tuple[str, ...] = ()


@dataclass(frozen=True)
class Memory:
    """What the lifecycle remembers of one run: when it ended, how many things it watches, and those.

    And when it will be woken next: one timer of a run is enough, and each costs as much as some rows.
    """

    ended_ms: Cell[int]
    watched: Cell[int]
    units: Shelf[Unit]
    wake_ms: Cell[int]


@dataclass(frozen=True)
class Wake:
    """Asks for ``wake`` to be called when the end of the windows has reached ``at_ms``."""

    at_ms: int


class FindingWriter(Protocol):
    """Says what a rule found, as a finding with the one run that the row is of."""

    def __call__(self, rule_id: str, row: LiveRow, severity: str, started_ms: int) -> Finding:
        """The finding in state firing."""
        ...


@dataclass(frozen=True)
class Lifecycle:
    """The rules that are known, the length of a window, and who words a finding.

    ``behind_end`` are rules on what is still there after its end: an application that is over, a task whose stage is.
    """

    rules: Mapping[str, RuleTimes]
    window_ms: int
    write: FindingWriter
    behind_end: frozenset[str] = frozenset()

    @property
    def stale_ms(self) -> int:
        """After how much time without a row a thing is gone."""
        return STALE_WINDOWS * self.window_ms

    def step(self, row: LiveRow, severities: Mapping[str, str], memory: Memory) -> Iterator[Finding | Wake]:
        """Take one row in, with the severity of each rule that holds on it.

        Gives a finding when one begins to fire, changes or resolves, and each ``EVIDENCE_EVERY_MS`` with the newest
        evidence while it fires; and when to be woken.
        Behind the end of its application a row counts only where it says what is still there, or what happened.
        """
        if row.HasField("application_ended"):
            if memory.ended_ms.get() is None:
                memory.ended_ms.put(row.window_end_ms)
                yield from self._end_all(row.window_end_ms, memory)
            return
        counting = self._counting(row, severities, memory)
        if counting is None:
            return
        if name := unit_name(row):
            yield from self._observe(name, row, counting, memory)
        if memory.watched.get() and ends_units(row):
            for ended in units_that_end(row, list(memory.units.names())):
                yield from self._end(ended, row.window_end_ms, memory)

    def _counting(self, row: LiveRow, severities: Mapping[str, str], memory: Memory) -> Mapping[str, str] | None:
        """Of the rules that hold on the row those that may; None for a row that comes too late to say anything."""
        kind = row.WhichOneof("row")
        if kind in EVENTS:
            return severities
        over = memory.ended_ms.get() is not None
        if over and kind != "application":
            return None
        if over or (kind == "task" and row.task.HasField("outlived_ms")):
            return {rule_id: found for rule_id, found in severities.items() if rule_id in self.behind_end}
        return severities

    def wake(self, now_ms: int, memory: Memory) -> Iterator[Finding | Wake]:
        """Resolve what has been gone, or has not held, for long enough at ``now_ms``."""
        memory.wake_ms.clear()
        left: list[int] = []
        for name, unit in memory.units.items():
            kept: dict[str, Holding] = {}
            for rule_id, holding in unit.holdings.items():
                if now_ms < self._due_ms(rule_id, holding):
                    kept[rule_id] = holding
                elif holding.started_ms is not None:
                    yield self._resolved(rule_id, holding, now_ms)
            if len(kept) != len(unit.holdings):
                self._keep(name, unit, replace(unit, holdings=kept), memory)
            left += (self._due_ms(rule_id, holding) for rule_id, holding in kept.items())
        if left:
            yield from _woken(min(left), memory)

    def _observe(
        self, name: str, row: LiveRow, severities: Mapping[str, str], memory: Memory
    ) -> Iterator[Finding | Wake]:
        unit = memory.units.get(name)
        if unit is None and not severities:
            return
        if unit is None and (memory.watched.get() or 0) >= MAX_UNITS:
            return
        before = unit or Unit()
        after: dict[str, Holding] = {}
        for rule_id in sorted({*before.holdings, *severities} - set(before.settled)):
            held = before.holdings.get(rule_id)
            holding, finding = self._evaluate(rule_id, held, severities.get(rule_id), row)
            if holding:
                after[rule_id] = holding
            if finding:
                yield finding
        self._keep(name, unit, replace(before, holdings=after), memory)
        yield from self._wakes(after, memory)

    def _evaluate(
        self, rule_id: str, held: Holding | None, found: str | None, row: LiveRow
    ) -> tuple[Holding | None, Finding | None]:
        """One rule on one row: how it stands now, and the finding when it fires or resolves by that."""
        rule, at_ms, part = self.rules.get(rule_id), row.window_end_ms, part_of_unit(row)
        if rule is None or found is None:
            other = rule is not None and held is not None and held.part != part
            return (held, None) if other else self._not_held(rule_id, held, at_ms)
        severity = worst(*(_allowed(rule, each, row) for each in (found, held.severity if held else "info")))
        holding = replace(
            held or Holding(severity, at_ms, at_ms, at_ms), severity=severity, held_ms=at_ms, row_ms=at_ms, part=part
        )
        # What happened has happened: no row follows that could hold for longer, or no more.
        event = row.WhichOneof("row") in EVENTS
        if holding.started_ms is None and not event and at_ms - holding.since_ms < rule.for_ms:
            return holding, None
        started_ms = at_ms if holding.started_ms is None else holding.started_ms
        after = replace(holding, started_ms=started_ms, over=event)
        if not _is_news(held, after):
            return replace(after, row=row.SerializeToString()), None
        finding = self.write(rule_id, row, severity, started_ms)
        return replace(after, finding=finding.SerializeToString(), row=b"", told_ms=at_ms), finding

    def _not_held(self, rule_id: str, held: Holding | None, at_ms: int) -> tuple[Holding | None, Finding | None]:
        rule = self.rules.get(rule_id)
        if held is None or held.started_ms is None:
            return None, None
        if rule is not None and at_ms < held.held_ms + rule.keep_firing_ms:
            return replace(held, row_ms=at_ms), None
        return None, self._resolved(rule_id, held, at_ms)

    def _end(self, name: str, at_ms: int, memory: Memory) -> Iterator[Finding | Wake]:
        """The thing ended: what was pending is forgotten, what fires resolves unless its rule keeps it firing."""
        unit = memory.units.get(name)
        if unit is None:
            return
        kept: dict[str, Holding] = {}
        settled = list(unit.settled)
        for rule_id, holding in unit.holdings.items():
            rule = self.rules.get(rule_id)
            if holding.started_ms is None:
                continue
            settled.append(rule_id)
            if rule is not None and at_ms < holding.held_ms + rule.keep_firing_ms:
                kept[rule_id] = replace(holding, over=True)
            else:
                yield self._resolved(rule_id, holding, at_ms)
        self._keep(name, unit, Unit(kept, tuple(settled)), memory)
        yield from self._wakes(kept, memory)

    def _end_all(self, at_ms: int, memory: Memory) -> Iterator[Finding]:
        """The application ended: all that fires resolves, but what happened and what its end is evidence for."""
        kept = 0
        for name, unit in memory.units.items():
            stays: dict[str, Holding] = {}
            for rule_id, holding in unit.holdings.items():
                if is_event_unit(name) or (name == APPLICATION and rule_id in self.behind_end):
                    stays[rule_id] = holding
                elif holding.started_ms is not None:
                    yield self._resolved(rule_id, holding, at_ms)
            if stays:
                memory.units.put(name, Unit(stays))
                kept += 1
            else:
                memory.units.remove(name)
        memory.watched.put(kept)

    def _resolved(self, rule_id: str, holding: Holding, at_ms: int) -> Finding:
        """The finding of a firing holding, resolved at ``at_ms``, with the evidence it last had."""
        finding = Finding.FromString(holding.finding)
        if holding.row and rule_id in self.rules:
            row, started_ms = LiveRow.FromString(holding.row), holding.started_ms or 0
            # A value that cannot be worded must not keep from resolving what fires: then the evidence is that told.
            with suppress(ArithmeticError, LookupError, TypeError, ValueError):
                finding = self.write(rule_id, row, holding.severity, started_ms)
        finding.state = finding.runs[0].state = "resolved"
        finding.resolved_ms = finding.runs[0].resolved_ms = at_ms
        return finding

    def _due_ms(self, rule_id: str, holding: Holding) -> int:
        """When the holding ends if no row comes: gone and no longer kept firing."""
        rule = self.rules.get(rule_id)
        kept_ms = holding.held_ms + rule.keep_firing_ms if rule and holding.started_ms is not None else 0
        gone_ms = 0 if holding.over else holding.row_ms + self.stale_ms
        # While rows come the next one decides; the timer is for when they stop.
        return max(kept_ms, gone_ms)

    def _wakes(self, holdings: Mapping[str, Holding], memory: Memory) -> Iterator[Wake]:
        if holdings:
            yield from _woken(min(self._due_ms(rule_id, holding) for rule_id, holding in holdings.items()), memory)

    @staticmethod
    def _keep(name: str, before: Unit | None, after: Unit, memory: Memory) -> None:
        """Remember the thing while a rule holds or has settled for it, and count how many are remembered."""
        if after == before:
            return
        known = before is not None
        if after.holdings or after.settled:
            memory.units.put(name, after)
            if not known:
                memory.watched.put((memory.watched.get() or 0) + 1)
        elif known:
            memory.units.remove(name)
            memory.watched.put(max(0, (memory.watched.get() or 0) - 1))


def _woken(at_ms: int, memory: Memory) -> Iterator[Wake]:
    """Ask to be woken, unless it will happen earlier: then what is left is looked at, and when to look next."""
    asked_ms = memory.wake_ms.get()
    if asked_ms is None or at_ms < asked_ms:
        memory.wake_ms.put(at_ms)
        yield Wake(at_ms)


def _is_news(before: Holding | None, after: Holding) -> bool:
    """Whether what fires is to be passed on: it did not fire so before, or its evidence is old by now."""
    if before is None or before.started_ms is None or after.held_ms >= before.told_ms + EVIDENCE_EVERY_MS:
        return True
    return after.over or (after.severity, after.part) != (before.severity, before.part)


def _allowed(rule: RuleTimes, severity: str, row: LiveRow) -> str:
    """The severity that the row's evidence may have for the rule."""
    return severity if rule.absence else capped_severity(severity, row.completeness)


def worst(*severities: str) -> str:
    """The worst of them. Raises ValueError for one that is not a severity."""
    return max(severities, key=SEVERITIES.index)
