"""Which stage an application waited for at each moment: the parts of its wall time, without gap or overlap."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sparkfuse_native_analytics.compare.run import Executor, Run

OUTSIDE = ("before_first_stage", "no_executor", "driver", "after_last_stage")
"""Time in which no stage was running: until the first one, without any executor, with executors, after the last one."""


@dataclass(frozen=True)
class Shares:
    """The run's wall time by stage id and by the kinds of OUTSIDE, in ms; together they are the wall time."""

    stages: Mapping[int, int]
    outside: Mapping[str, int]


@dataclass(frozen=True)
class _Stretch:
    start: int
    end: int
    stage_id: int | None


def shares(run: Run) -> Shares:
    """Give each moment of the run to the running stage that completes last, else to what went on outside stages.

    Of stages that run side by side it is the last one that the rest of the run waits for; where stages follow one
    another this is the critical path of the stage graph. What lies outside the application's own time is cut off.
    """
    stages = dict.fromkeys((stage.stage_id for stage in run.stages), 0)
    outside = dict.fromkeys(OUTSIDE, 0)
    stretches = list(_stretches(run))
    of_stages = [each for each in stretches if each.stage_id is not None]
    first = of_stages[0].start if of_stages else run.ended_ms
    last = of_stages[-1].end if of_stages else run.ended_ms
    for each in stretches:
        if each.stage_id is not None:
            stages[each.stage_id] += each.end - each.start
        elif each.start < first:
            outside["before_first_stage"] += each.end - each.start
        elif each.start >= last:
            outside["after_last_stage"] += each.end - each.start
        else:
            without = _without_executor(run.executors, each.start, each.end)
            outside["no_executor"] += without
            outside["driver"] += each.end - each.start - without
    return Shares(stages, outside)


def _stretches(run: Run) -> Iterator[_Stretch]:
    """The run's time from start to end, cut where the stage that completes last changes."""
    spans = sorted(
        (max(each.submitted_ms, run.started_ms), min(each.completed_ms, run.ended_ms), stage.stage_id)
        for stage in run.stages
        for each in stage.attempts
    )
    waiting = [span for span in spans if span[0] < span[1]][::-1]
    running: list[tuple[int, int]] = []
    now = run.started_ms
    while now < run.ended_ms:
        while waiting and waiting[-1][0] <= now:
            _, completed, stage_id = waiting.pop()
            heapq.heappush(running, (-completed, -stage_id))
        while running and -running[0][0] <= now:
            heapq.heappop(running)
        next_start = waiting[-1][0] if waiting else run.ended_ms
        until = min(-running[0][0], next_start) if running else next_start
        yield _Stretch(now, until, -running[0][1] if running else None)
        now = until


def _without_executor(executors: tuple[Executor, ...], start: int, end: int) -> int:
    """Of a stretch of time that in which no executor was there; 0 when the log tells of no executor at all."""
    if not executors:
        return 0
    known = sorted((each.added_ms, end if each.removed_ms is None else each.removed_ms) for each in executors)
    without, now = 0, start
    for added, removed in known:
        if added > now:
            without += max(0, min(added, end) - now)
        now = max(now, removed)
        if now >= end:
            return without
    return without + end - now
