"""Builds the timeline: bars for executors, jobs and stages, which share as few lines as possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from sparkfuse_dashboards.report.limits import MAX_BARS, MAX_LANES
from sparkfuse_dashboards.report.stages import label
from sparkfuse_dashboards.report.text import clean, number, span

_GOOD = {"JobSucceeded", "succeeded", "SUCCEEDED"}
_BAD = {"JobFailed", "failed", "FAILED"}


@dataclass(frozen=True)
class Bar:
    """One bar, with times in ms since the epoch; ``has_end`` is False if the log does not contain its end."""

    name: str
    tip: str
    start: float
    end: float
    status: str
    has_end: bool = True


@dataclass(frozen=True)
class Window:
    """The period that the charts show, in ms since the epoch."""

    start: float
    end: float

    @property
    def length_ms(self) -> float:
        """The length in ms; at least 1, so that the chart's time scale is valid."""
        return max(self.end - self.start, 1)

    def holds(self, bar: Bar) -> bool:
        """Whether a part of the bar is inside the window."""
        return bar.start <= self.end and bar.end >= self.start


def window(analysis: Mapping[str, Any]) -> Window | None:
    """Return the period of the application; if its start or end is unknown, use its jobs, stages and executors.

    The application's own times have precedence, because one event with a wrong clock could make the window so long that
    the run shrinks to a point. The result is None if no time is known.
    """
    application = analysis.get("application") or {}
    times = [
        number(each.get(name))
        for kind, names in (
            ("jobs", ("submitted_ms", "completed_ms")),
            ("stages", ("submitted_ms", "completed_ms")),
            ("executors", ("added_ms", "removed_ms")),
        )
        for each in analysis.get(kind) or ()
        for name in names
    ]
    known = [at for at in times if at is not None and at > 0]
    started, ended = number(application.get("started_ms")), number(application.get("ended_ms"))
    start = started or min(known, default=None)
    if start is None:
        return None
    end = ended or max(known, default=start)
    return Window(start, max(end, start))


def rows(analysis: Mapping[str, Any], shown: Window) -> dict[str, Any]:
    """Return bars with the number of their line, the labels of the lines, and sentences on omitted bars."""
    bars: list[dict[str, Any]] = []
    labels: list[str] = []
    left_out: list[str] = []
    for kind, found in (
        ("executors", list(executor_bars(analysis, shown))),
        ("jobs", list(job_bars(analysis, shown))),
        ("stages", list(stage_bars(analysis, shown))),
    ):
        seen = [bar for bar in found if shown.holds(bar)]
        longest = sorted(seen, key=lambda bar: bar.start - bar.end)[:MAX_BARS]
        lanes = pack(longest)
        drawn = sum(len(lane) for lane in lanes)
        if drawn < len(found):
            left_out.append(f"{len(found) - drawn} of {len(found)} {kind} are not drawn (shortest, or outside).")
        for place, lane in enumerate(lanes):
            bars.extend(_drawn(bar, len(labels), kind, shown) for bar in lane)
            labels.append(kind if place == 0 else "")
    return {"bars": bars, "labels": labels, "left_out": left_out}


def pack(bars: Iterable[Bar], most: int = MAX_LANES) -> list[list[Bar]]:
    """Distribute the bars over at most ``most`` lines without overlaps; omit bars for which no line has space."""
    lanes: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda each: (each.start, each.end)):
        lane = next((each for each in lanes if each[-1].end <= bar.start), None)
        if lane is not None:
            lane.append(bar)
        elif len(lanes) < most:
            lanes.append([bar])
    return lanes


def alive(executors: Sequence[Mapping[str, Any]], shown: Window) -> list[dict[str, float]]:
    """Return the steps of the number of executors over time; the time is in seconds since the start of the window."""
    changes: dict[float, int] = {}
    for bar in executor_bars({"executors": executors}, shown):
        changes[max(bar.start, shown.start)] = changes.get(max(bar.start, shown.start), 0) + 1
        if bar.has_end:
            changes[bar.end] = changes.get(bar.end, 0) - 1
    steps, now = [{"at": 0.0, "count": 0.0}], 0
    for at in sorted(changes):
        now += changes[at]
        steps.append({"at": (at - shown.start) / 1000, "count": float(now)})
    steps.append({"at": shown.length_ms / 1000, "count": float(now)})
    return _thinned(steps)


def executor_bars(analysis: Mapping[str, Any], shown: Window) -> Iterator[Bar]:
    """Yield one bar for the lifetime of each executor; in a local run, the driver is the executor."""
    for each in analysis.get("executors") or ():
        name = f"executor {clean(each.get('executor_id'), 40)}"
        yield from _bar(
            name, clean(each.get("host"), 60), each.get("added_ms"), each.get("removed_ms"), "executor", shown
        )


def job_bars(analysis: Mapping[str, Any], shown: Window) -> Iterator[Bar]:
    """Yield one bar for each job."""
    for each in analysis.get("jobs") or ():
        name, more = f"job {clean(each.get('job_id'), 20)}", clean(each.get("description"), 80)
        yield from _bar(
            name, more, each.get("submitted_ms"), each.get("completed_ms"), _status(each.get("result")), shown
        )


def stage_bars(analysis: Mapping[str, Any], shown: Window) -> Iterator[Bar]:
    """Yield one bar for each stage attempt."""
    for each in analysis.get("stages") or ():
        more, status = clean(each.get("stage_name"), 80), _status(each.get("status"))
        yield from _bar(label(each), more, each.get("submitted_ms"), each.get("completed_ms"), status, shown)


def _bar(name: str, more: str, started: object, ended: object, status: str, shown: Window) -> Iterator[Bar]:
    start, end = number(started), number(ended)
    if start is None:
        return
    ended_later = end is not None and end >= start
    until = end if end is not None and ended_later else max(shown.end, start)
    length = span(until - start) if ended_later else "no end in the log"
    yield Bar(name, f"{name}: {more or 'no description'} ({length}, {status})", start, until, status, ended_later)


def _status(word: object) -> str:
    return "succeeded" if word in _GOOD else "failed" if word in _BAD else "open"


def _drawn(bar: Bar, row: int, kind: str, shown: Window) -> dict[str, Any]:
    """Return a bar as the chart needs it: in seconds since the start of the window, and limited to the window."""
    start, end = max(bar.start, shown.start), min(bar.end, shown.end)
    return {
        "row": row,
        "from": (start - shown.start) / 1000,
        "to": (end - shown.start) / 1000,
        "kind": kind,
        "status": bar.status,
        "name": bar.name,
        "tip": bar.tip,
    }


def _thinned(steps: list[dict[str, float]]) -> list[dict[str, float]]:
    """Reduce the number of steps; the first, highest and last step of each section remain, so that no peak is lost."""
    stretch = -(-len(steps) // MAX_BARS)
    if stretch <= 1:
        return steps
    kept = (
        (part[0], max(part, key=lambda each: each["count"]), part[-1])
        for part in (steps[place : place + stretch] for place in range(0, len(steps), stretch))
    )
    return sorted({each["at"]: each for each in chain.from_iterable(kept)}.values(), key=lambda each: each["at"])
