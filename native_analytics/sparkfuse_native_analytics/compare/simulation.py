"""Predicts the duration of a run under one change: without skew, with fewer executors, and so on.

Each attempt of a stage is scheduled again: its tasks take the first free slot, one after the other (list scheduling,
R. L. Graham, Bounds on Multiprocessing Timing Anomalies, 1969). The task times come from the sums of the attempt: one
task takes as long as the longest task, and the others equally share the rest. A stage starts as long after the last
completed stage as in the run, because the driver worked in between, and after the stages of its query. This is the
method of executor simulators such as Sparklens, on sums instead of single tasks.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sparkfuse_native_analytics.compare.run import Attempt, Run
from sparkfuse_native_analytics.compare.stage_time_model import longer_by_data

NO_QUERY = -1
LEAST_SLOTS = 1.5
"""The smallest average number of task slots that can be halved."""
SKEW, STRAGGLERS, FAILURES, GC = "skew", "stragglers", "failures", "gc"
# With more tasks, the duration is approximated by their total time divided by the slots, without waves.
_MOST_SCHEDULED = 2_000
# The order of tasks is unknown, so the longest task is tried at these places of the order.
_PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Change:
    """What differs from the run: the number of executors by a factor, and which lost time does not exist."""

    name: str
    meaning: str
    slots_factor: float = 1.0
    without: frozenset[str] = field(default_factory=frozenset)


CHANGES = (
    Change("no_skew", "all tasks of a stage process the same amount of data", without=frozenset({SKEW})),
    Change("no_stragglers", "no task takes longer than others with as much data", without=frozenset({STRAGGLERS})),
    Change("no_failures", "no task and no stage runs again", without=frozenset({FAILURES})),
    Change("no_gc", "garbage collection takes no time", without=frozenset({GC})),
    Change("half_executors", "half as many executors of the same size", 0.5),
    Change("twice_executors", "twice as many executors of the same size", 2.0),
)


@dataclass(frozen=True)
class Prediction:
    """The duration of a run under a change; ``saved_ms`` is negative if the run would take longer. Times in ms."""

    change: str
    meaning: str
    predicted_ms: int
    saved_ms: int


def predictions(run: Run, changes: Sequence[Change] = CHANGES) -> list[Prediction]:
    """Predict the duration of a run under each change.

    Changes of the number of executors are left out if the executors are not known, and halving them also with fewer
    than 1.5 task slots. If no stage is known, there are no predictions.
    """
    return [
        Prediction(each.name, each.meaning, predicted, run.wall_ms - predicted)
        for each in changes
        for predicted in [predicted_ms(run, each)]
        if predicted is not None
    ]


def predicted_ms(run: Run, change: Change) -> int | None:
    """Return the duration in ms; None if the run has no stage, or too few task slots for the change.

    Time before the first stage, work of the driver and time without executors do not change.
    """
    attempts = sorted(_attempts(run, change), key=lambda each: (each.submitted_ms, each.completed_ms))
    if not attempts or not _has_slots_for(run, attempts, change):
        return None
    running: list[tuple[int, int, int]] = []  # completion in the run, how much later it is now, query
    trigger = (0, 0)  # the last stage that has completed: completion in the run, how much later it is now
    query_end: dict[int, int] = {}  # the last completion of a stage of each query, as predicted

    def complete(until_ms: int) -> None:
        nonlocal trigger
        while running and running[0][0] <= until_ms:
            moment, later, query_id = heapq.heappop(running)
            trigger = (moment, later)
            query_end[query_id] = max(query_end.get(query_id, 0), moment + later)

    for each in attempts:
        complete(each.submitted_ms)
        # Stages of one query depend on each other, so no stage starts before those that had completed before it.
        start = max(each.submitted_ms + trigger[1], query_end.get(each.query_id, 0))
        heapq.heappush(running, (each.completed_ms, start + each.predicted_ms - each.completed_ms, each.query_id))
    complete(max(each.completed_ms for each in attempts))
    return max(0, max(query_end.values()) + run.ended_ms - trigger[0] - run.started_ms)


def _has_slots_for(run: Run, attempts: Sequence[_Scheduled], change: Change) -> bool:
    """Return whether the number of slots can change: the run has executors, and one slot is not halved."""
    if change.slots_factor == 1:
        return True
    return bool(run.executors) and (change.slots_factor > 1 or max(each.slots for each in attempts) >= LEAST_SLOTS)


@dataclass(frozen=True)
class _Scheduled:
    query_id: int
    submitted_ms: int
    completed_ms: int
    slots: float
    predicted_ms: int


def _attempts(run: Run, change: Change) -> Iterator[_Scheduled]:
    most_busy = max((_busy_slots(each) for stage in run.stages for each in stage.attempts), default=0.0)
    for stage in run.stages:
        query_id = NO_QUERY if stage.sql_execution_id is None else stage.sql_execution_id
        for each in stage.attempts:
            slots = run.slots(each.launched_ms, each.finished_ms) or most_busy
            if each is not stage.main and FAILURES in change.without:
                predicted = 0
            else:
                active = each.finished_ms - each.launched_ms
                predicted = each.elapsed_ms - active + _active_ms(each, slots, change)
            yield _Scheduled(query_id, each.submitted_ms, each.completed_ms, slots, predicted)


def _busy_slots(attempt: Attempt) -> float:
    """Return the average number of busy slots; if the executors of a run are not known, it has the largest of these."""
    active = attempt.finished_ms - attempt.launched_ms
    return max(attempt.ended_wall_ms, attempt.wall_ms) / active if active > 0 else 0.0


@dataclass(frozen=True)
class _Tasks:
    """The task attempts of a stage attempt: their number, the sum of their times and the time of the longest in ms."""

    number: int
    wall_ms: float
    longest_ms: float

    def scheduled_ms(self, slots: int, place: float) -> float:
        """Return the duration on some slots if the longest task has this place in the order, from 0 to 1."""
        others = self.number - 1
        other_ms = max(self.wall_ms - self.longest_ms, 0.0) / others if others else 0.0
        before = round(place * others)
        if self.number > _MOST_SCHEDULED:
            return max(before * other_ms / slots + self.longest_ms, self.wall_ms / slots)
        free = [0.0] * min(slots, self.number)
        for number in range(self.number):
            heapq.heappush(free, heapq.heappop(free) + (self.longest_ms if number == before else other_ms))
        return max(free)


def _active_ms(attempt: Attempt, slots: float, change: Change) -> int:
    """Return the time from the first launch to the last finish under the change.

    The schedule of the unchanged attempt is calibrated with its measured time: the place of the longest task is the
    one that fits best, and the remaining ratio applies to the prediction too. A stage without lost time never gets
    longer, and more slots never make it longer, although the order of tasks could have that effect.
    """
    active = attempt.finished_ms - attempt.launched_ms
    changed = change.slots_factor != 1.0 or bool(change.without)
    if not changed or attempt.tasks <= 0 or attempt.wall_ms <= 0 or active <= 0:
        return active
    wall = float(max(attempt.ended_wall_ms, attempt.wall_ms))
    now, then = max(1, round(slots)), max(1, round(slots * change.slots_factor))
    before = _Tasks(attempt.tasks + attempt.failed, wall, min(float(attempt.longest_ms), wall))
    place = min(_PLACES, key=lambda each: abs(before.scheduled_ms(now, each) - active))
    ratio = active / max(before.scheduled_ms(now, place), 1.0)
    predicted = ratio * _without(attempt, before, change.without).scheduled_ms(then, place)
    return round(max(predicted, active) if change.slots_factor < 1 else min(predicted, active))


def _without(attempt: Attempt, tasks: _Tasks, without: frozenset[str]) -> _Tasks:
    number, wall, longest = tasks.number, tasks.wall_ms, tasks.longest_ms
    median = attempt.median_wall_ms
    by_data = min(longer_by_data(attempt), max(longest - median, 0.0))
    if FAILURES in without:
        number, wall = attempt.tasks, float(attempt.wall_ms)
    if STRAGGLERS in without and (lost := max(longest - median - by_data, 0.0)):
        wall, longest = wall - lost, longest - lost
    if SKEW in without:
        # The data of the large task is processed by the others, so the work stays.
        longest = max(longest - by_data, wall / number)
    if GC in without:
        kept = 1 - min(attempt.gc_ms / attempt.wall_ms, 1.0)
        wall, longest = wall * kept, longest * kept
    return _Tasks(number, wall, min(longest, wall))
