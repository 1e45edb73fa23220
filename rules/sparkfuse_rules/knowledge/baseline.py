"""What a stage is expected to take, from its earlier runs, for the amount of work it has now; and how it learns."""

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

# A level is accepted after three runs in a row that agree (a coincidence of three is rare, a week of alarms is not).
RUNS_OF_A_NEW_LEVEL = 3
# One run must not fill the memory: a loop makes many stages that are alike.
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
    """Say what a run that started at ``known_before_ms`` is expected to take; None below five known runs.

    Only what had been learned before the run started counts, so a run is never judged by itself or a later one.
    Rises with the work, scales with the times, does not depend on the order of the samples, and up to 30 % of
    outliers move it no further than the others' spread.
    """
    fitted = fit(samples, known_before_ms)
    return fitted.at(Work(work_bytes, work_records, operator_rows), running) if fitted else None


def fit(samples: Sequence[Sample], known_before_ms: int) -> Fit | None:
    """Fit the lines once for a run and stage, to be asked again and again; None below five known runs."""
    known = [sample for sample in samples if sample.learned_ms < known_before_ms and sample.wall_ms >= 0]
    normal = [sample for sample in known if not sample.abnormal]
    runs = len({sample.run_key for sample in normal})
    if len({sample.run_key for sample in known}) < MIN_RUNS or runs < RUNS_OF_A_NEW_LEVEL:
        return None
    return fit_lines(normal, runs)


def learn(samples: Sequence[Sample], sample: Sample, limit: int = LIMIT) -> tuple[Sample, ...]:
    """Add an ended, complete and successful run; give back the samples in the order they were learned.

    A run beyond the bounds of its expectation, above or below, is kept as abnormal and does not teach. When the last
    three runs are abnormal and agree, theirs is the new level: they teach, and what was before does not.
    The same sample twice changes nothing. Of one run at most five samples stay, of all at most ``limit``.
    """
    if any(replace(known, abnormal=sample.abnormal) == sample for known in samples):
        return tuple(samples)
    fitted = fit(samples, sample.learned_ms + 1)
    judged = replace(sample, abnormal=sample.abnormal or _side(fitted, sample) != 0)
    kept = _without_surplus([*samples, judged])[-limit:]
    return _accept_new_level(kept, fitted) if judged.abnormal and fitted else tuple(kept)


def moved(expectation: Expectation, elapsed_ms: int | None, cpu_ms: int | None) -> str:
    """Say what is beyond its 95 % bound: ``wall``, ``cpu``, ``both`` or ``none``.

    Wall time alone moves under noisy neighbours and slow services, CPU with it when the stage itself does more.
    """
    wall = elapsed_ms is not None and elapsed_ms > expectation.expected_p95_ms
    bound = expectation.expected_cpu_p95_ms
    cpu = cpu_ms is not None and bound is not None and cpu_ms > bound
    return {(True, True): "both", (True, False): "wall", (False, True): "cpu"}.get((wall, cpu), "none")


def level_changed(before: Sequence[Sample], after: Sequence[Sample]) -> bool:
    """Whether the step from ``before`` to ``after`` accepted a new level, which is worth saying."""
    flags = {(sample.run_key, sample.learned_ms): sample.abnormal for sample in before}
    return any(flags.get((sample.run_key, sample.learned_ms)) and not sample.abnormal for sample in after)


def _side(fitted: Fit | None, sample: Sample) -> int:
    """1 above the bounds, -1 below them, 0 within or unknown; in wall time, which is what users wait for."""
    if fitted is None:
        return 0
    expectation = fitted.at(sample.work)
    if sample.wall_ms > expectation.expected_p95_ms:
        return 1
    lowest = expectation.expected_ms**2 / expectation.expected_p95_ms
    return -1 if sample.wall_ms < lowest - WALL_SLACK_MS else 0


def _without_surplus(samples: Sequence[Sample]) -> list[Sample]:
    """Let go of the oldest samples of a run that has too many."""
    kept: list[Sample] = []
    count: dict[str, int] = {}
    for sample in reversed(samples):
        count[sample.run_key] = count.get(sample.run_key, 0) + 1
        if count[sample.run_key] <= SAMPLES_OF_ONE_RUN:
            kept.append(sample)
    return kept[::-1]


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
    """Whether the runs lie as near to each other, for their sizes, as runs of one level do."""
    off = [math.log(max(1, sample.wall_ms) / max(1, fitted.at(sample.work).expected_ms)) for sample in samples]
    return max(off) - min(off) <= 3 * min(line.scale for line in fitted.wall.values())
