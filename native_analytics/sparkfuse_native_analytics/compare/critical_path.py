"""Assigns each moment of a run either to the one stage that the run waits for, or to time outside stages."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sparkfuse_native_analytics.compare.run import Executor, Run

OUTSIDE = ("before_first_stage", "no_executor", "driver", "after_last_stage")
"""Kinds of time without a running stage: before the first stage, no executors, with executors, after the last stage."""


@dataclass(frozen=True)
class Shares:
    """The duration of a run in ms, split by stage id and by the kinds of OUTSIDE; the sum is the whole duration."""

    stages: Mapping[int, int]
    outside: Mapping[str, int]


@dataclass(frozen=True)
class _Stretch:
    start: int
    end: int
    stage_id: int | None


def shares(run: Run) -> Shares:
    """Assign each moment of the run to the running stage that completes last; if no stage runs, to time outside stages.

    If several stages run at a moment, the run waits longest for the stage that completes last. If stages run in
    sequence, the result is the critical path of the stage graph. Time before the application's start or after its end
    is ignored.
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
    """Yield stretches of the run in order of time, split where the running stage that completes last changes."""
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
    """Return how many ms of a period had no executor; 0 if the log contains no executors at all."""
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
