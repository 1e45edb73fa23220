"""Finds settings with which the next runs of a job would probably be faster or cheaper.

Each advice has the exact setting, the duration that the simulation of `compare.simulation` predicts for it in each of
the runs, and what can go wrong. Nothing is advised from fewer than five successful runs with the same configuration,
because a single run can be unusual.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sparkfuse_native_analytics.compare import Run, Stage
from sparkfuse_native_analytics.compare.simulation import GC, SKEW, Change, predicted_ms
from sparkfuse_native_analytics.compare.stage_time_model import longer_by_data

MIN_RUNS = 5
MIN_DURATION_MS = 60_000
"""Shorter runs consist of start-up to a large part, which no setting changes."""
MIN_SAVING = 0.1
"""The smallest share of the duration, or of the allocated core time, that is worth a change."""
MAX_LONGER, MAX_LONGER_EVER = 0.05, 0.1
"""With fewer executors, a run may take this much longer, in the median and in the longest case."""
MAX_COSTLIER = 0.1
"""With twice the executors, the median run may allocate this much more core time, so it is at least 45 % shorter."""
PREDICTION_ERROR = 0.3
"""All predictions were this close to a real run with the change, on a busy machine, see docs/compare.md."""
MOST_DIGITS = 9
SHARES = (0.25, 0.5, 0.75)
MORE_MEMORY = 1.5
_MIB = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024 * 1024}
_MEMORY = re.compile(r"(\d{1,9})\s*([kmgt])b?", re.IGNORECASE)
_DEFAULT_MEMORY_MIB = 1024
_SKEW_THRESHOLD = 256 << 20


@dataclass(frozen=True)
class Setting:
    """A Spark setting; ``before`` is None if the job does not set it. Setting it back undoes the advice."""

    key: str
    before: str | None
    after: str


@dataclass(frozen=True)
class RunEvidence:
    """One run with its duration, and the predicted duration with the setting; in ms."""

    app_id: str
    elapsed_ms: int
    predicted_ms: int


@dataclass(frozen=True)
class Advice:
    """One change that would probably make the job faster or cheaper.

    ``usual_ms`` is the median duration of the runs, ``predicted_ms`` the median of the predictions; the interval from
    ``low_ms`` to ``high_ms`` covers the predictions of all runs and the error of predictions. ``core_ratio`` is the
    predicted core time divided by the present one, None if it does not change or is not known. ``how`` says what to do;
    ``settings`` is empty if the code must change.
    """

    kind: str
    how: str
    risk: str
    settings: tuple[Setting, ...]
    usual_ms: int
    predicted_ms: int
    low_ms: int
    high_ms: int
    core_ratio: float | None
    evidence: tuple[RunEvidence, ...]


def same_configuration(runs: Sequence[Run]) -> list[Run]:
    """Return those runs, newest first, that have the configuration of the newest one."""
    newest_first = sorted(runs, key=lambda each: -each.started_ms)
    return [each for each in newest_first if each.configuration == newest_first[0].configuration]


def is_short(runs: Sequence[Run]) -> bool:
    """Return whether the runs are too short for advice."""
    return statistics.median(each.wall_ms for each in runs) < MIN_DURATION_MS


def advise(runs: Sequence[Run]) -> list[Advice]:
    """Return advice from successful runs of one job, the largest saving of time or core time first."""
    known = [each for each in same_configuration(runs) if each.stages]
    if len(known) < MIN_RUNS or is_short(known):
        return []
    found = [each for advice in (_executors, _skew, _memory) for each in advice(known)]
    return sorted(found, key=lambda each: -max(1 - each.predicted_ms / each.usual_ms, 1 - (each.core_ratio or 1)))


def _executors(runs: Sequence[Run]) -> Iterator[Advice]:
    """Advise fewer executors if that is hardly slower, else twice as many if that is much faster at the same cost."""
    configuration = runs[0].configuration
    number = max(map(_peak, runs))
    key = next((each for each in ("spark.executor.instances", "spark.cores.max") if each in configuration), None)
    dynamic = configuration.get("spark.dynamicAllocation.enabled") == "true"
    if key is None or dynamic or number < 2 or any(_peak(each) != number for each in runs):
        return
    if not configuration[key].isdecimal() or len(configuration[key]) > MOST_DIGITS:
        return
    for fewer in sorted({math.ceil(number * share) for share in SHARES} - {number}):
        ratios = _ratios(runs, Change("fewer", "", fewer / number))
        if ratios and statistics.median(ratios) <= 1 + MAX_LONGER and max(ratios) <= 1 + MAX_LONGER_EVER:
            how = f"Use {fewer} instead of {number} executors: the run is hardly slower with them."
            risk = "If the data grows, the run takes longer than it would have with more executors."
            setting = _executor_setting(runs[0], key, fewer / number)
            yield _advice("fewer_executors", how, risk, (setting,), runs, ratios, fewer / number)
            return
    ratios = _ratios(runs, Change("more", "", 2.0))
    if ratios and 2 * statistics.median(ratios) <= 1 + MAX_COSTLIER:
        how = (
            f"Use {2 * number} instead of {number} executors: the stages have enough tasks, so the cost hardly changes."
        )
        risk = "A database or disk that all tasks share may become the limit, and the cluster must have the executors."
        yield _advice("more_executors", how, risk, (_executor_setting(runs[0], key, 2.0),), runs, ratios, 2.0)


def _skew(runs: Sequence[Run]) -> Iterator[Advice]:
    """Advise against skew if it costs a tenth of each run."""
    ratios = _ratios(runs, Change("no_skew", "", without=frozenset({SKEW})))
    if not ratios or max(ratios) > 1 - MIN_SAVING:
        return
    stage = max(runs[0].stages, key=lambda each: longer_by_data(each.main))
    configuration = runs[0].configuration
    name = stage.name or stage.spark_name
    risk = "A task with half of the data is only split if its stage reads the sides of a join; else change the code."
    salting = f"In stage {name}, spread the largest key over several keys (salting)."
    settings: tuple[Setting, ...]
    if stage.sql_execution_id is None:
        how, settings = salting, ()
    elif configuration.get("spark.sql.adaptive.enabled") == "false":
        how = f"Let Spark split the largest partition of stage {name} (adaptive execution)."
        settings = (Setting("spark.sql.adaptive.enabled", "false", "true"),)
    elif stage.main.biggest_bytes < _threshold(configuration.get(_THRESHOLD)):
        how = f"Let Spark split smaller partitions, because the largest of stage {name} is below the threshold."
        settings = (Setting(_THRESHOLD, configuration.get(_THRESHOLD), f"{_half(stage)}b"),)
    else:
        how, settings = salting, ()
    yield _advice("skew", how, risk, settings, runs, ratios, None)


def _memory(runs: Sequence[Run]) -> Iterator[Advice]:
    """Advise more memory for executors if garbage collection costs a tenth of each run."""
    ratios = _ratios(runs, Change("no_gc", "", without=frozenset({GC})))
    if not ratios or max(ratios) > 1 - MIN_SAVING:
        return
    before = runs[0].configuration.get("spark.executor.memory")
    size = _mib(before) if before else _DEFAULT_MEMORY_MIB
    if size is None:
        return
    setting = Setting("spark.executor.memory", before, f"{round(size * MORE_MEMORY)}m")
    how = "Give executors more memory: garbage collection takes much of the time. The prediction is the best case."
    risk = "Each executor costs more, and the containers must fit on the hosts."
    yield _advice("memory", how, risk, (setting,), runs, ratios, None)


_THRESHOLD = "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes"


def _ratios(runs: Sequence[Run], change: Change) -> list[float]:
    """Return the predicted duration divided by the measured one for each run; empty if a run gives no prediction."""
    found = []
    for each in runs:
        predicted = predicted_ms(each, change)
        if predicted is None or each.wall_ms <= 0:
            return []
        found.append(predicted / each.wall_ms)
    return found


def _advice(
    kind: str, how: str, risk: str, settings: tuple[Setting, ...], runs: Sequence[Run], ratios: Sequence[float],
    executors: float | None,
) -> Advice:  # fmt: skip
    usual = round(statistics.median(each.wall_ms for each in runs))
    typical = statistics.median(ratios)
    return Advice(
        kind=kind,
        how=how,
        risk=risk,
        settings=settings,
        usual_ms=usual,
        predicted_ms=round(usual * typical),
        low_ms=round(usual * min(ratios) * (1 - PREDICTION_ERROR)),
        high_ms=round(usual * max(ratios) * (1 + PREDICTION_ERROR)),
        core_ratio=None if executors is None else executors * typical,
        evidence=tuple(
            RunEvidence(each.app_id, each.wall_ms, round(each.wall_ms * ratio))
            for each, ratio in zip(runs, ratios, strict=True)
        ),
    )


def _peak(run: Run) -> int:
    """Return the largest number of executors that existed at the same time."""
    ends = [run.ended_ms if each.removed_ms is None else each.removed_ms for each in run.executors]
    moments = sorted([(each.added_ms, 1) for each in run.executors] + [(end, -1) for end in ends])
    peak = now = 0
    for _, change in moments:
        now += change
        peak = max(peak, now)
    return peak


def _executor_setting(run: Run, key: str, factor: float) -> Setting:
    before = run.configuration[key]
    return Setting(key, before, str(math.ceil(int(before) * factor)))


def _mib(text: str) -> int | None:
    found = _MEMORY.fullmatch(text.strip())
    return max(1, round(int(found[1]) * _MIB[found[2].lower()])) if found else None


def _threshold(text: str | None) -> int:
    mib = _mib(text) if text else None
    return _SKEW_THRESHOLD if mib is None else mib << 20


def _half(stage: Stage) -> int:
    """Return half of the data of the largest task, at least 1 MiB."""
    return max(stage.main.biggest_bytes // 2, 1 << 20)
