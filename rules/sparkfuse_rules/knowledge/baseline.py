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
from sparkfuse_rules.knowledge.calendar_modes import USUAL, DatedResidual, calendar_modes
from sparkfuse_rules.knowledge.levels import MIN_SHIFT, Level, Residual, changed_level
from sparkfuse_rules.knowledge.retention import LIMIT, REFERENCE, retained, without_surplus
from sparkfuse_rules.knowledge.robust import median
from sparkfuse_rules.knowledge.run_history import history_of
from sparkfuse_rules.knowledge.work import Work

__all__ = [
    "LIMIT",
    "Expectation",
    "Fit",
    "Sample",
    "accept",
    "expect",
    "fit",
    "fit_at",
    "learn",
    "level_changed",
    "moved",
]

# Three consecutive runs with similar durations become the new level; three similar runs are rarely a coincidence.
RUNS_OF_A_NEW_LEVEL = 3
# A shorter duration needs more runs: a job may have less to do for a while.
RUNS_OF_A_LOWER_LEVEL = 5
# A run is abnormal if it is this many scales from its expected duration (Hampel 1974).
ABNORMAL_SCALES = 3.0


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
    their order. Abnormal runs do not change it.
    """
    fitted = fit(samples, known_before_ms)
    return fitted.at(Work(work_bytes, work_records, operator_rows), running) if fitted else None


def fit(samples: Sequence[Sample], known_before_ms: int, started_ms: int | None = None) -> Fit | None:
    """Return the fitted lines, which give a stage's expectation for any work; None for fewer than five known runs.

    If at least five runs have work, runs without work are ignored, because they had nothing to do. The expectation is
    for a run that starts at ``started_ms``, by default ``known_before_ms``: a job may take longer on some days.
    """
    known = [sample for sample in samples if sample.learned_ms < known_before_ms and sample.wall_ms >= 0]
    known = sorted(_with_work(known), key=lambda sample: (sample.learned_ms, sample.run_key, sample.wall_ms))
    normal = [sample for sample in known if not sample.abnormal]
    runs = len({sample.run_key for sample in normal})
    if len({sample.run_key for sample in known}) < MIN_RUNS or runs < RUNS_OF_A_NEW_LEVEL:
        return None
    spilled = [sample.disk_spilled_bytes for sample in known if sample.disk_spilled_bytes is not None]
    # The spill of abnormal runs is included: these runs succeeded, so a spill of that size does not mean a runaway job.
    lines = replace(fit_lines(normal, runs), disk_spilled_bytes=max(spilled, default=None))
    return _with_history(_with_modes(lines, known, started_ms or known_before_ms), known, known_before_ms)


def fit_at(fitted: Fit, started_ms: int) -> Fit:
    """Return the fit for a run that starts at another time [ms since epoch] and knows the same samples."""
    history = fitted.history and replace(fitted.history, now_ms=started_ms)
    return replace(fitted, day=fitted.modes.at(started_ms), history=history)


def learn(
    samples: Sequence[Sample], sample: Sample, limit: int = LIMIT, fitted: Fit | None = None
) -> tuple[Sample, ...]:
    """Add the sample of a complete and successful run, and return all samples in the order in which they were learned.

    A run far from its expected duration is stored as abnormal and does not change the expectation. If the last three
    runs are abnormal, longer and consistent, they become the new level, and the first runs of the baseline remain the
    reference. A shorter level needs five runs and becomes the reference. Runs without work are dropped if at least five
    runs have work. Adding the same sample twice changes nothing. At most five samples of one run are stored, and at
    most ``limit`` samples in total. ``fitted`` is the fit of ``samples``, if the caller has it.
    """
    if any(_same(known, sample) for known in samples if known.run_key == sample.run_key):
        return tuple(samples)
    if not sample.sizes and _enough_with_work(samples):
        return tuple(samples)
    fitted = fitted or fit(samples, sample.learned_ms + 1, sample.started_ms)
    # The runs of a calendar mode are expected to be slow, but they are no training samples for usual days.
    of_mode = fitted is not None and fitted.modes.at(sample.started_ms) != USUAL
    abnormal = sample.abnormal or of_mode or _side(fitted, sample) != 0
    reference = not abnormal and sum(known.reference for known in samples) < REFERENCE
    new = replace(_compared(fitted, samples, sample), abnormal=abnormal, reference=reference)
    updated = without_surplus(_with_work([*samples, new]))
    if fitted is None:
        return tuple(updated[-limit:])
    if abnormal:
        updated = _accept_longer_level(updated, fitted)
    if (lower := _lower_level(fitted, sample)) is not None:
        updated = _with_reference(updated, lower, fitted, side=-1)
    return tuple(retained(updated, limit, fitted.residual))


def accept(samples: Sequence[Sample], accepted_ms: int) -> tuple[Sample, ...]:
    """Return the samples with the longer level of the newest runs as the reference; unchanged if there is none.

    ``accepted_ms`` is when a person accepted the level; runs that ended later are not part of it.
    """
    before = [each for each in samples if each.learned_ms <= accepted_ms]
    fitted = fit(before, accepted_ms + 1)
    level = fitted.history.level if fitted is not None and fitted.history is not None else None
    if fitted is None or level is None:
        return tuple(samples)
    return (*_with_reference(before, level, fitted, side=1), *samples[len(before) :])


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


def _same(known: Sample, sample: Sample) -> bool:
    derived = ("abnormal", "reference", "slow_runs", "level_ratio")
    return replace(known, **{name: getattr(sample, name) for name in derived}) == sample


def _compared(fitted: Fit | None, samples: Sequence[Sample], sample: Sample) -> Sample:
    """Return the sample with the length of its slow episode, and with the ratio of the level that it reports.

    A sample that was learned elsewhere keeps the length, because the runs before it may be unknown here.
    """
    if fitted is None or fitted.history is None or not fitted.comparable(sample.sizes):
        return sample
    history, residual = fitted.history, _residual(fitted, sample)
    level = history.level_with(residual.wall, residual.cpu)
    due = level is not None and history.due(level, sample.learned_ms - sample.wall_ms)
    ratio = math.exp(level.shift) if level is not None and due else None
    slow_runs = sample.slow_runs
    if not slow_runs and residual.wall - history.base >= MIN_SHIFT:
        slow_runs = 1 + max((each.slow_runs for each in samples if each.run_key == samples[-1].run_key), default=0)
    return replace(sample, slow_runs=slow_runs, level_ratio=ratio)


def _with_work(samples: Sequence[Sample]) -> Sequence[Sample]:
    return [sample for sample in samples if sample.sizes] if _enough_with_work(samples) else samples


def _enough_with_work(samples: Sequence[Sample]) -> bool:
    return len({sample.run_key for sample in samples if sample.sizes}) >= MIN_RUNS


def _with_modes(fitted: Fit, known: Sequence[Sample], started_ms: int) -> Fit:
    modes = calendar_modes([
        DatedResidual(each.started_ms, fitted.residual(each), fitted.cpu_residual(each))
        for each in known
        if fitted.comparable(each.sizes)
    ])  # fmt: skip
    return replace(fitted, modes=modes, day=modes.at(started_ms)) if modes.shifts else fitted


def _with_history(fitted: Fit, known: Sequence[Sample], now_ms: int) -> Fit:
    reference: list[Residual] = []
    others: list[Residual] = []
    for sample in known:
        if fitted.comparable(sample.sizes):
            (reference if sample.reference else others).append(_residual(fitted, sample))
    scale = min(line.scale for line in fitted.wall.values())
    p95 = scale * min(line.factor for line in fitted.wall.values())
    span_ms = known[-1].learned_ms - known[0].learned_ms
    history = history_of(reference, others, p95, scale, span_ms, now_ms)
    if history.level or any(each.wall - history.base >= MIN_SHIFT / 2 for each in history.later[-4:]):
        history = replace(history, samples=tuple(known))
    return replace(fitted, history=history)


def _residual(fitted: Fit, sample: Sample) -> Residual:
    reported = math.log(sample.level_ratio) if sample.level_ratio else None
    day, cpu = fitted.modes.at(sample.started_ms), fitted.cpu_residual(sample)
    wall = fitted.residual(sample) - day.wall
    return Residual(sample.learned_ms, wall, None if cpu is None else cpu - day.cpu, sample.slow_runs, reported)


def _side(fitted: Fit | None, sample: Sample) -> int:
    """Return the position of the sample's wall time: 1 far above the expected duration, -1 far below it, else 0.

    If no range is known, no earlier run is comparable, or a run is short because it had less work than the learned
    runs, the result is 0.
    """
    if fitted is None:
        return 0
    expectation = replace(fitted, day=fitted.modes.at(sample.started_ms)).at(sample.work)
    if not expectation.runs:
        return 0
    range_ms = math.exp(ABNORMAL_SCALES * min(line.scale for line in fitted.wall.values()))
    if sample.wall_ms > max(expectation.expected_p95_ms, expectation.expected_ms * range_ms + WALL_SLACK_MS):
        return 1
    below = sample.wall_ms < expectation.expected_ms / range_ms - WALL_SLACK_MS
    return -1 if below and fitted.comparable(sample.sizes) else 0


def _accept_longer_level(samples: list[Sample], fitted: Fit) -> list[Sample]:
    latest = _latest_runs(samples, RUNS_OF_A_NEW_LEVEL)
    newest_runs = {sample.run_key for sample in latest}
    if len(newest_runs) < RUNS_OF_A_NEW_LEVEL or not all(sample.abnormal for sample in latest):
        return samples
    if {_side(fitted, sample) for sample in latest} != {1} or not _agree(latest, fitted):
        return samples
    return [replace(each, abnormal=False) if each.run_key in newest_runs else each for each in samples]


def _lower_level(fitted: Fit, sample: Sample) -> Level | None:
    """Return the level of the newest runs if it is below the reference for long enough."""
    history = fitted.history
    if history is None or not history.reference or not fitted.comparable(sample.sizes):
        return None
    later = [*history.later, _residual(fitted, sample)]
    if median([each.wall for each in later[-RUNS_OF_A_LOWER_LEVEL:]]) > history.base - MIN_SHIFT:
        return None
    lower = changed_level([_mirrored(each) for each in history.reference], [_mirrored(each) for each in later])
    return lower if lower is not None and lower.runs >= RUNS_OF_A_LOWER_LEVEL else None


def _mirrored(residual: Residual) -> Residual:
    return residual._replace(wall=-residual.wall, cpu=None if residual.cpu is None else -residual.cpu, slow_runs=0)


def _with_reference(samples: Sequence[Sample], level: Level, fitted: Fit, side: int) -> list[Sample]:
    """Make the runs of the level normal, and the reference; the runs before become neither.

    ``side`` is 1 for a longer level and -1 for a shorter one.
    """
    return [
        replace(each, abnormal=False, reference=True, slow_runs=0, level_ratio=None)
        if each.learned_ms >= level.since_ms and (not each.abnormal or _side(fitted, each) == side)
        else replace(each, abnormal=True, reference=False)
        for each in samples
    ]


def _latest_runs(samples: Sequence[Sample], count: int) -> list[Sample]:
    runs = list(dict.fromkeys(sample.run_key for sample in reversed(samples)))[:count]
    return [sample for sample in samples if sample.run_key in runs]


def _agree(samples: Sequence[Sample], fitted: Fit) -> bool:
    """Return whether the runs belong to one level.

    Each duration is divided by the expected duration for its amount of work. The runs belong to one level if these
    ratios differ no more than usual.
    """
    off = [fitted.residual(sample) for sample in samples]
    return max(off) - min(off) <= 3 * min(line.scale for line in fitted.wall.values())
