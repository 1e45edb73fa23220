"""Compute the expected duration of a stage from its earlier runs and its work, and learn from runs that ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sparkfuse_rules.knowledge.baseline_model import (
    MIN_RUNS,
    WALL_SLACK_MS,
    Expectation,
    Fit,
    Sample,
    fit_lines,
)
from sparkfuse_rules.knowledge.work import Work

__all__ = ["Expectation", "Fit", "Sample", "expect", "fit", "learn", "level_changed", "moved"]

# Three consecutive runs with similar durations become the new level; three similar runs are rarely a coincidence.
RUNS_OF_A_NEW_LEVEL = 3
# One run must not fill the baseline: a loop in the job's code creates many equal stages in one run.
SAMPLES_OF_ONE_RUN = 5
LIMIT = 50


def expect(
    samples: Sequence[Sample],
    work_bytes: int | None,
    work_records: int | None,
    known_before_ms: int,
    running: bool = False,
    operator_rows: int | None = None,
) -> Expectation | None:
    """Return the expected duration of a run that started at ``known_before_ms``; None for fewer than five known runs.

    Only samples that were learned before the run started are used, so a run is never compared with itself or a later
    run. The expected duration rises with the work, scales with the durations of the samples, and does not depend on
    their order. If at most 30 % of the samples are outliers, they change the expected duration by no more than the
    spread of the other samples.
    """
    fitted = fit(samples, known_before_ms)
    return fitted.at(Work(work_bytes, work_records, operator_rows), running) if fitted else None


def fit(samples: Sequence[Sample], known_before_ms: int) -> Fit | None:
    """Return the fitted lines, which give a stage's expectation for any work; None for fewer than five known runs."""
    known = [sample for sample in samples if sample.learned_ms < known_before_ms and sample.wall_ms >= 0]
    normal = [sample for sample in known if not sample.abnormal]
    runs = len({sample.run_key for sample in normal})
    if len({sample.run_key for sample in known}) < MIN_RUNS or runs < RUNS_OF_A_NEW_LEVEL:
        return None
    spilled = [sample.disk_spilled_bytes for sample in known if sample.disk_spilled_bytes is not None]
    # The spill of abnormal runs is included: these runs succeeded, so a spill of that size does not mean a runaway job.
    return replace(fit_lines(normal, runs), disk_spilled_bytes=max(spilled, default=None))


def learn(samples: Sequence[Sample], sample: Sample, limit: int = LIMIT) -> tuple[Sample, ...]:
    """Add the sample of a complete and successful run, and return all samples in the order in which they were learned.

    A run outside its expected range is stored as abnormal and does not change the expectation. If the last three runs
    are abnormal and consistent, they become the new level, and all earlier runs become abnormal. Adding the same sample
    twice changes nothing. At most five samples of one run are stored, and at most ``limit`` samples in total.
    """
    if any(replace(known, abnormal=sample.abnormal) == sample for known in samples):
        return tuple(samples)
    fitted = fit(samples, sample.learned_ms + 1)
    added = replace(sample, abnormal=sample.abnormal or _side(fitted, sample) != 0)
    remaining = _without_surplus([*samples, added])[-limit:]
    return _accept_new_level(remaining, fitted) if added.abnormal and fitted else tuple(remaining)


def moved(expectation: Expectation, elapsed_ms: int | None, cpu_ms: int | None) -> str:
    """Return the name of the time that is above its p95: ``wall``, ``cpu``, ``both`` or ``none``.

    Busy hosts and slow services raise only the wall time. If the stage itself computes more, its CPU time rises too.
    """
    wall = elapsed_ms is not None and elapsed_ms > expectation.expected_p95_ms
    bound = expectation.expected_cpu_p95_ms
    cpu = cpu_ms is not None and bound is not None and cpu_ms > bound
    return {(True, True): "both", (True, False): "wall", (False, True): "cpu"}.get((wall, cpu), "none")


def level_changed(before: Sequence[Sample], after: Sequence[Sample]) -> bool:
    """Return whether a new level was accepted between the samples ``before`` and the samples ``after``."""
    flags = {(sample.run_key, sample.learned_ms): sample.abnormal for sample in before}
    return any(flags.get((sample.run_key, sample.learned_ms)) and not sample.abnormal for sample in after)


def _side(fitted: Fit | None, sample: Sample) -> int:
    """Return the position of the sample's wall time: 1 above the expected range, -1 below it, else 0.

    If no range is known, the result is 0.
    """
    if fitted is None:
        return 0
    expectation = fitted.at(sample.work)
    if sample.wall_ms > expectation.expected_p95_ms:
        return 1
    lowest = expectation.expected_ms**2 / expectation.expected_p95_ms
    return -1 if sample.wall_ms < lowest - WALL_SLACK_MS else 0


def _without_surplus(samples: Sequence[Sample]) -> list[Sample]:
    """Drop the oldest samples of each run that has more than five samples."""
    remaining: list[Sample] = []
    count: dict[str, int] = {}
    for sample in reversed(samples):
        count[sample.run_key] = count.get(sample.run_key, 0) + 1
        if count[sample.run_key] <= SAMPLES_OF_ONE_RUN:
            remaining.append(sample)
    return remaining[::-1]


def _accept_new_level(samples: Sequence[Sample], fitted: Fit) -> tuple[Sample, ...]:
    latest = _latest_runs(samples)
    agree = len({_side(fitted, sample) for sample in latest} - {0}) == 1 and _agree(latest, fitted)
    newest_runs = {sample.run_key for sample in latest}
    if len(newest_runs) < RUNS_OF_A_NEW_LEVEL or not all(s.abnormal for s in latest) or not agree:
        return tuple(samples)
    return tuple(replace(sample, abnormal=sample.run_key not in newest_runs) for sample in samples)


def _latest_runs(samples: Sequence[Sample]) -> list[Sample]:
    runs = list(dict.fromkeys(sample.run_key for sample in reversed(samples)))[:RUNS_OF_A_NEW_LEVEL]
    return [sample for sample in samples if sample.run_key in runs]


def _agree(samples: Sequence[Sample], fitted: Fit) -> bool:
    """Return whether the runs belong to one level.

    Each duration is divided by the expected duration for its amount of work. The runs belong to one level if these
    ratios differ no more than usual.
    """
    off = [math.log(max(1, sample.wall_ms) / max(1, fitted.at(sample.work).expected_ms)) for sample in samples]
    return max(off) - min(off) <= 3 * min(line.scale for line in fitted.wall.values())
