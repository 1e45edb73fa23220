"""Splits the difference of a stage's duration between two runs into parts in whole ms that add up exactly."""

from __future__ import annotations

from collections.abc import Mapping

from sparkfuse_native_analytics.compare.run import Attempt, Run, Stage
from sparkfuse_native_analytics.compare.shapley import contributions
from sparkfuse_native_analytics.compare.stage_time_model import Factors, active_ms, factors, measure_of

UNEXPLAINED = "unexplained"
PARTS: Mapping[str, str] = {
    "volume": "more or less data",
    "partitions": "more or fewer tasks",
    "slots": "more or fewer task slots while it ran",
    "cpu": "processor time for the same data",
    "gc": "garbage collection for the same data",
    "fetch_wait": "waiting for shuffle blocks for the same data",
    "other": "other time in tasks (disks, Python, locks, spill) for the same data",
    "overhead": "starting tasks and returning their results",
    "failed_tasks": "tasks that failed or were killed",
    "repeats": "further attempts of the stage",
    "skew": "one task with most of the data",
    "stragglers": "one task that takes longer without having more data",
    "waiting": "time from the stage's submission to its first task",
    "overlap": "time that overlaps with other stages",
    "added": "a stage that only the second run has",
    "removed": "a stage that only the first run has",
    UNEXPLAINED: "the rest, which no other part explains",
}
"""The parts of the difference of a stage's duration, with their meaning."""

_FROM_FACTORS = {
    "volume": "volume",
    "tasks": "partitions",
    "overhead": "overhead",
    "repeats": "failed_tasks",
    "slots": "slots",
}
_FROM_TAILS = {"skew": "skew", "failures": "failed_tasks", "stragglers": "stragglers", UNEXPLAINED: UNEXPLAINED}


def stage_parts(before: tuple[Run, Stage, int], after: tuple[Run, Stage, int]) -> dict[str, int]:
    """Return the parts of the difference between the times that a stage adds to two runs; absent parts are zero.

    ``before`` and ``after`` are a run, its stage, and the stage's share of the critical path in ms. The duration of the
    main attempt consists of waiting for the first task, the active time (`stage_time_model`), and the time after the
    last task. `shapley` splits the difference of the active times. Parts are rounded to whole ms, and ``unexplained``
    contains the rounding error, so that the parts add up exactly.
    """
    exact = dict.fromkeys(PARTS, 0.0)
    one, other = before[1].main, after[1].main
    exact["waiting"] = (other.launched_ms - other.submitted_ms) - (one.launched_ms - one.submitted_ms)
    exact["repeats"] = _repeated(after[1]) - _repeated(before[1])
    exact["overlap"] = (before[1].elapsed_ms - before[2]) - (after[1].elapsed_ms - after[2])
    for name, value in _active(before[0], one, after[0], other).items():
        exact[name] += value
    whole = {name: round(value) for name, value in exact.items()}
    whole[UNEXPLAINED] = after[2] - before[2] - sum(part for name, part in whole.items() if name != UNEXPLAINED)
    return {name: part for name, part in whole.items() if part}


def _repeated(stage: Stage) -> int:
    return stage.elapsed_ms - stage.main.elapsed_ms


def _active(run: Run, one: Attempt, other_run: Run, other: Attempt) -> dict[str, float]:
    measure = measure_of(one, other)
    before = factors(one, run.slots(one.launched_ms, one.finished_ms), measure)
    after = factors(other, other_run.slots(other.launched_ms, other.finished_ms), measure)
    if before is None or after is None:
        return {}
    # The last digit of floating-point results depends on the order of the operands. With a fixed order, swapping the
    # two runs negates the results exactly.
    if _order(after) < _order(before):
        return {name: -value for name, value in _split_active(after, before).items()}
    return _split_active(before, after)


def _order(of: Factors) -> tuple[float, ...]:
    return (*of.values().values(), *of.tails.values(), *of.costs.values())


def _split_active(before: Factors, after: Factors) -> dict[str, float]:
    """Return the contributions by part; the contributions of cost and tail are split among their constituents.

    The active time is linear in cost and in tail, so each constituent gets its own change, multiplied by a factor that
    all constituents share.
    """
    found = contributions(active_ms, before.values(), after.values())
    parts = {part: found[factor] for factor, part in _FROM_FACTORS.items()}
    parts |= _split(found["cost"], before.costs, after.costs)
    for constituent, value in _split(found["tail"], before.tails, after.tails).items():
        part = _FROM_TAILS[constituent]
        parts[part] = parts.get(part, 0.0) + value
    return parts


def _split(contribution: float, before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    change = sum(after.values()) - sum(before.values())
    multiplier = contribution / change if change else 0.0
    return {name: (after[name] - before[name]) * multiplier for name in before}
