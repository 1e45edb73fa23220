"""Describe what changed together with the duration of a job: version, plan, executors, tasks, input size, CPU time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from sparkfuse_rules.knowledge.robust import median

if TYPE_CHECKING:
    from sparkfuse_rules.knowledge.baseline_model import Sample

# The runs on each side of the change that are compared.
COMPARED_RUNS = 8
# A number has changed if its median has changed by this factor, up or down.
CHANGED = 1.25
NOTHING = "nothing that is recorded"


def level_changes(samples: Sequence[Sample], since_ms: int) -> str:
    """Return what changed with the level that began at ``since_ms``, such as ``Spark 3.5.1 → 4.0.0; plan``.

    The runs of the level are compared with the runs before it. A change is evidence of a cause, not a proof.
    """
    before = [each for each in samples if each.learned_ms < since_ms and not each.slow_runs][-COMPARED_RUNS:]
    after = [each for each in samples if each.learned_ms >= since_ms][-COMPARED_RUNS:]
    found = [
        _value("Spark", before, after, lambda each: each.spark_version),
        "plan" if _replaced(before, after, lambda each: each.plan) else None,
        _number("executors", before, after, lambda each: each.executors),
        _number("tasks", before, after, lambda each: each.num_tasks),
        _factor("input size", before, after, lambda each: each.work_bytes or each.work_records or each.operator_rows),
        _factor("CPU time", before, after, lambda each: each.cpu_ms),
    ]
    return "; ".join(each for each in found if each) or NOTHING


def _replaced(before: Iterable[Sample], after: Iterable[Sample], value: Callable[[Sample], str | None]) -> bool:
    """Return whether no run of the level has a value of the runs before."""
    old, new = ({known for each in runs if (known := value(each))} for runs in (before, after))
    return bool(old and new) and not old & new


def _value(
    name: str, before: Sequence[Sample], after: Sequence[Sample], value: Callable[[Sample], str | None]
) -> str | None:
    if not _replaced(before, after, value):
        return None
    old, new = ([known for each in runs if (known := value(each))][-1] for runs in (before, after))
    return f"{name} {old} → {new}"


def _number(
    name: str, before: Sequence[Sample], after: Sequence[Sample], value: Callable[[Sample], int | None]
) -> str | None:
    medians = _medians(before, after, value)
    return f"{name} {medians[0]:,.0f} → {medians[1]:,.0f}" if medians else None


def _factor(
    name: str, before: Sequence[Sample], after: Sequence[Sample], value: Callable[[Sample], int | None]
) -> str | None:
    medians = _medians(before, after, value)
    return f"{name} {medians[1] / medians[0]:.1f} times" if medians else None


def _medians(
    before: Iterable[Sample], after: Iterable[Sample], value: Callable[[Sample], int | None]
) -> tuple[float, float] | None:
    """Return the medians of both sides if they differ by ``CHANGED``."""
    old, new = ([known for each in runs if (known := value(each))] for runs in (before, after))
    if not old or not new:
        return None
    medians = median(old), median(new)
    return medians if max(medians) >= CHANGED * min(medians) else None
