"""What is expected of a stage and why, in numbers that a person can follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sparkfuse_rules.knowledge.baseline import fit
from sparkfuse_rules.knowledge.baseline_model import MIN_RUNS, Expectation, Line, Sample
from sparkfuse_rules.knowledge.work import Work


@dataclass(frozen=True)
class Growth:
    """How a stage's time follows one measure of its work (bytes, records or rows of SQL operators).

    ``doubled`` is the factor on the time when the work doubles; ``usual``, ``smallest`` and ``largest`` are the work of
    the runs that teach; ``spread`` is the factor by which two of three healthy runs of one size differ at most.
    """

    measure: str
    usual: int
    smallest: int
    largest: int
    doubled: float
    spread: float


@dataclass(frozen=True)
class Explanation:
    """What is expected of the next run with this much work, and on what that rests.

    ``expected`` is None while too few runs are known: ``why_not`` says so then. ``teaching`` and ``set_aside`` are the
    runs that count and those that were abnormal, oldest first. ``between_p95_ms`` is how long 19 of 20 drivers would be
    without a job, of an application whose jobs take as long as usual; None where too few runs told it.
    """

    expected: Expectation | None
    why_not: str | None
    teaching: tuple[str, ...]
    set_aside: tuple[str, ...]
    growth: tuple[Growth, ...]
    between_p95_ms: int | None = None


def explain(samples: Sequence[Sample], known_before_ms: int, work: Work | None = None) -> Explanation:
    """Explain what a run that starts at ``known_before_ms`` is expected to take; without work: with the usual work."""
    known = [sample for sample in samples if sample.learned_ms < known_before_ms]
    teaching = _runs(known, abnormal=False)
    set_aside = tuple(run for run in _runs(known, abnormal=True) if run not in teaching)
    fitted = fit(samples, known_before_ms)
    if fitted is None:
        runs = len({sample.run_key for sample in known})
        why_not = f"{runs} of the {MIN_RUNS} runs that are needed" if runs < MIN_RUNS else "too few runs agree"
        return Explanation(None, why_not, teaching, set_aside, ())
    growth = tuple(_growth(measure, line) for measure, line in fitted.wall.items() if measure)
    expected = fitted.at_usual() if work is None else fitted.at(work)
    between_p95_ms = fitted.driver_idle.bound_ms(0, 0) if fitted.driver_idle else None
    return Explanation(expected, None, teaching, set_aside, growth, between_p95_ms)


def _runs(samples: Sequence[Sample], *, abnormal: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sample.run_key for sample in samples if sample.abnormal is abnormal))


def _growth(measure: str, line: Line) -> Growth:
    usual, smallest, largest = (round(math.exp(each)) for each in (line.reference_size, line.smallest, line.largest))
    return Growth(measure, usual, smallest, largest, 2**line.slope, math.exp(line.scale))
