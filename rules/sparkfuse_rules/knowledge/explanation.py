"""Explain in numbers how the expected duration of a stage was computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sparkfuse_rules.knowledge.baseline import fit
from sparkfuse_rules.knowledge.baseline_model import MIN_RUNS, Expectation, Line, Sample
from sparkfuse_rules.knowledge.work import Work


@dataclass(frozen=True)
class Growth:
    """How a stage's duration depends on one measure of its work (bytes, records or rows of SQL operators).

    ``doubled`` is the factor by which the duration grows if the work doubles. ``usual``, ``smallest`` and ``largest``
    describe the work of the training runs. About two thirds of healthy runs take between the expected duration divided
    by ``spread`` and the expected duration times ``spread``.
    """

    measure: str
    usual: int
    smallest: int
    largest: int
    doubled: float
    spread: float


@dataclass(frozen=True)
class Explanation:
    """The expectation of the next run for an amount of work, and the runs that the expectation is based on.

    If too few runs are known, ``expected`` is None and ``missing_reason`` gives the reason. The expectation uses
    ``training_runs`` and ignores ``abnormal_runs``; both are ordered from the oldest run to the newest.
    ``between_p95_ms`` is the p95 of the time that an application runs no job; it is None if too few runs report that
    time.
    """

    expected: Expectation | None
    missing_reason: str | None
    training_runs: tuple[str, ...]
    abnormal_runs: tuple[str, ...]
    growth: tuple[Growth, ...]
    between_p95_ms: int | None = None


def explain(samples: Sequence[Sample], known_before_ms: int, work: Work | None = None) -> Explanation:
    """Explain the expected duration of a run that starts at ``known_before_ms``, by default for usual work."""
    known = [sample for sample in samples if sample.learned_ms < known_before_ms]
    training_runs = _runs(known, abnormal=False)
    abnormal_runs = tuple(run for run in _runs(known, abnormal=True) if run not in training_runs)
    fitted = fit(samples, known_before_ms)
    if fitted is None:
        runs = len({sample.run_key for sample in known})
        missing_reason = f"{runs} of the {MIN_RUNS} required runs" if runs < MIN_RUNS else "too few consistent runs"
        return Explanation(None, missing_reason, training_runs, abnormal_runs, ())
    growth = tuple(_growth(measure, line) for measure, line in fitted.wall.items() if measure)
    expected = fitted.at_usual() if work is None else fitted.at(work)
    between_p95_ms = fitted.driver_idle.bound_ms(0, 0) if fitted.driver_idle else None
    return Explanation(expected, None, training_runs, abnormal_runs, growth, between_p95_ms)


def _runs(samples: Sequence[Sample], *, abnormal: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sample.run_key for sample in samples if sample.abnormal is abnormal))


def _growth(measure: str, line: Line) -> Growth:
    usual, smallest, largest = (round(math.exp(each)) for each in (line.reference_size, line.smallest, line.largest))
    return Growth(measure, usual, smallest, largest, 2**line.slope, math.exp(line.scale))
