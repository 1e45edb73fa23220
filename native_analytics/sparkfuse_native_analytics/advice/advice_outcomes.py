"""Derives the outcomes of advice: proposed, applied, verified or without a gain, from the runs of a job."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkfuse_native_analytics.advice.advise import MIN_RUNS, Advice, Setting
from sparkfuse_native_analytics.advice.effect import Effect, Measured, NotComparableError, effect
from sparkfuse_rules.knowledge.allocation import size_mib

PROPOSED, APPLIED, VERIFIED, NO_GAIN = "proposed", "applied", "verified", "no_gain"
EXECUTOR_MEMORY = "spark.executor.memory"
ADVISED_KEYS = frozenset({
    "spark.executor.instances", "spark.cores.max", EXECUTOR_MEMORY, "spark.sql.adaptive.enabled",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes",
})  # fmt: skip
"""The settings that advice can change."""
MAX_CHANGES = 3
"""The number of changes of the configuration that are examined, the newest ones, because each needs ten runs."""
MAX_BEFORE = 10
DURATION, CORE_TIME = "duration", "core_time"
FEWER_EXECUTORS = "fewer_executors"
"""The advice that makes runs cheaper; the others make them faster."""


@dataclass(frozen=True)
class ConfiguredRun:
    """An ended run with a known configuration. Times are in ms; an unknown value is None.

    ``usable`` runs succeeded and have complete data, so their durations count. ``cost`` is in the currency of the
    prices.
    """

    app_id: str
    started_ms: int
    usable: bool
    configuration: Mapping[str, str]
    elapsed_ms: int | None
    core_ms: int | None
    input_bytes: int | None
    cost: float | None


@dataclass(frozen=True)
class AdviceOutcome:
    """The outcome of an advice.

    ``state`` is proposed (the runs now give the advice), applied (a run had the setting, but the effect is not measured
    yet, see ``reason``), verified (the interval of the measured effect is a gain) or no_gain (it is not). ``goal`` is
    what the advice improves: duration or core_time; the ratios are its value with the setting divided by that without,
    for the same input size. ``active`` is whether the newest run has the setting. ``also_changed`` are other settings
    that changed in the same run, which may be a part of the effect. ``as_predicted`` is whether the measured ratio is
    in the predicted interval. ``unusable_after`` runs failed or have incomplete data. ``saved_cost`` is the measured
    saving of all usable runs with a known cost after the change, and ``saved_cost_per_run`` its mean; they are negative
    if the runs cost more. Advice that the same run applied has the same saving, that of the whole change.
    """

    kind: str
    how: str
    settings: tuple[Setting, ...]
    state: str
    reason: str | None
    goal: str
    proposed_from_runs: int
    usual_ms: int
    predicted_ms: int
    predicted_ratio: float
    predicted_low: float
    predicted_high: float
    predicted_saved_cost_per_run: float | None = None
    applied_ms: int | None = None
    applied_app_id: str | None = None
    active: bool = False
    also_changed: tuple[str, ...] = ()
    runs_after: int = 0
    unusable_after: int = 0
    measured_ratio: float | None = None
    measured_low: float | None = None
    measured_high: float | None = None
    as_predicted: bool | None = None
    saved_ms_per_run: float | None = None
    saved_cost_per_run: float | None = None
    saved_cost: float | None = None


@dataclass(frozen=True)
class Change:
    """A run whose configuration is new, and at most ten runs before it that had the previous one, oldest first."""

    at: int
    before: tuple[ConfiguredRun, ...]


def changes(runs: Sequence[ConfiguredRun]) -> list[Change]:
    """Return the newest changes of a setting that advice can change, the newest first; ``runs`` are oldest first.

    A configuration that an earlier run had is no change, so that going back to it counts once. A change after fewer
    runs than advice needs is left out.
    """
    found = []
    for at in range(1, len(runs)):
        old, new = runs[at - 1].configuration, runs[at].configuration
        if not ADVISED_KEYS & _changed(old, new) or any(each.configuration == new for each in runs[:at]):
            continue
        before = [each for each in runs[:at] if each.usable and each.configuration == old]
        if len(before) >= MIN_RUNS:
            found.append(Change(at, tuple(before[-MAX_BEFORE:])))
    return found[: -MAX_CHANGES - 1 : -1]


def outcomes(
    runs: Sequence[ConfiguredRun],
    advice_of: Callable[[Sequence[ConfiguredRun]], Sequence[Advice]],
    *,
    proposals: bool = True,
) -> list[AdviceOutcome]:
    """Return the entries of a job, what is proposed now first, then the newest change; ``runs`` are oldest first.

    ``advice_of`` returns the advice that some runs give; it is asked at most once more than there are `changes`.
    Without ``proposals``, only advice that was applied is returned.
    """
    usable = [each for each in runs if each.usable] if proposals else []
    newest = [each for each in usable if each.configuration == usable[-1].configuration][-MAX_BEFORE:]
    entries = [_entry(each, newest) for each in (advice_of(newest) if len(newest) >= MIN_RUNS else ())]
    for change in changes(runs):
        entries += _applied(runs, change, advice_of(change.before))
    return entries


def _applied(runs: Sequence[ConfiguredRun], change: Change, advice: Sequence[Advice]) -> Iterator[AdviceOutcome]:
    """Yield the advice that a change applied."""
    first = runs[change.at]
    changed = _changed(runs[change.at - 1].configuration, first.configuration)
    for each in advice:
        if not each.settings or not _has(first, each.settings):
            continue
        after = [run for run in runs[change.at :] if run.configuration == first.configuration]
        entry = _entry(each, change.before)
        keys = {setting.key for setting in each.settings}
        yield dataclasses.replace(
            entry,
            applied_ms=first.started_ms,
            applied_app_id=first.app_id,
            active=_has(runs[-1], each.settings),
            also_changed=tuple(sorted(changed - keys)),
            runs_after=len(after),
            unusable_after=sum(not run.usable for run in after),
            **_outcome(entry, change.before, [run for run in after if run.usable]),
        )


def _outcome(entry: AdviceOutcome, before: Sequence[ConfiguredRun], after: Sequence[ConfiguredRun]) -> dict[str, Any]:
    try:
        measured = effect(_values(before, entry.goal), _values(after, entry.goal))
    except NotComparableError as error:
        return {"state": APPLIED, "reason": str(error)}
    money = _effect_or_none(_values(before, "cost"), _values(after, "cost"))
    duration = _effect_or_none(_values(before, DURATION), _values(after, DURATION))
    # What each run would have cost without the change, at its own input size, minus what it cost.
    spent = [run.cost for run in after if run.cost is not None]
    saved = None if money is None else sum(spent) * (1 / money.ratio - 1)
    return {
        "state": VERIFIED if measured.high < 1 else NO_GAIN,
        "measured_ratio": measured.ratio,
        "measured_low": measured.low,
        "measured_high": measured.high,
        "as_predicted": entry.predicted_low <= measured.ratio <= entry.predicted_high,
        "saved_ms_per_run": None if duration is None else duration.before * (1 - duration.ratio),
        "saved_cost_per_run": None if saved is None else saved / len(spent),
        "saved_cost": saved,
    }


def _effect_or_none(before: Sequence[Measured], after: Sequence[Measured]) -> Effect | None:
    try:
        return effect(before, after)
    except NotComparableError:
        return None


def _entry(advice: Advice, runs: Sequence[ConfiguredRun]) -> AdviceOutcome:
    """Return an advice as proposed. The predicted interval of core time is as wide as that of the duration."""
    goal = CORE_TIME if advice.kind == FEWER_EXECUTORS else DURATION
    ratio = advice.predicted_ms / advice.usual_ms
    factor = 1.0 if goal == DURATION or advice.core_ratio is None else advice.core_ratio / ratio
    costs = sorted(each.cost for each in runs if each.cost is not None)
    usual = costs[len(costs) // 2] if costs else None
    saved = None if usual is None or advice.core_ratio is None else usual * (1 - advice.core_ratio)
    return AdviceOutcome(
        kind=advice.kind,
        how=advice.how,
        settings=advice.settings,
        state=PROPOSED,
        reason=None,
        goal=goal,
        proposed_from_runs=len(advice.evidence),
        usual_ms=advice.usual_ms,
        predicted_ms=advice.predicted_ms,
        predicted_ratio=ratio * factor,
        predicted_low=advice.low_ms / advice.usual_ms * factor,
        predicted_high=advice.high_ms / advice.usual_ms * factor,
        predicted_saved_cost_per_run=saved,
    )


def _values(runs: Sequence[ConfiguredRun], what: str) -> list[Measured]:
    known = {DURATION: "elapsed_ms", CORE_TIME: "core_ms", "cost": "cost"}[what]
    return [Measured(value, each.input_bytes) for each in runs if (value := getattr(each, known)) is not None]


def _changed(old: Mapping[str, str], new: Mapping[str, str]) -> set[str]:
    return {key for key in {*old, *new} if old.get(key) != new.get(key)}


def _has(run: ConfiguredRun, settings: Sequence[Setting]) -> bool:
    return all(_is_same(each.key, run.configuration.get(each.key), each.after) for each in settings)


def _is_same(key: str, value: str | None, advised: str) -> bool:
    """Return whether a run has the advised value; 6g and 6144m are the same memory."""
    if value is None or value == advised or key != EXECUTOR_MEMORY:
        return value == advised
    return size_mib(value) is not None and size_mib(value) == size_mib(advised)
