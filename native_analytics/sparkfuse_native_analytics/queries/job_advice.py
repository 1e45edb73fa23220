"""Advice for the next runs of a job: settings with predicted durations and costs, from its latest runs."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.advice import (
    MIN_DURATION_MS,
    MIN_RUNS,
    Advice,
    advise,
    is_short,
    same_configuration,
)
from sparkfuse_native_analytics.compare import Run as ComparableRun
from sparkfuse_native_analytics.queries.allocation_rows import allocation
from sparkfuse_native_analytics.queries.comparable_run import comparable_run
from sparkfuse_native_analytics.queries.job_history import PERIOD_MS
from sparkfuse_native_analytics.queries.run_filter import RunFilter
from sparkfuse_native_analytics.queries.run_pages import find_runs
from sparkfuse_native_analytics.queries.run_rows import Run
from sparkfuse_rules.knowledge.money import cost
from sparkfuse_rules.prices import Prices

MAX_RUNS = 10
MIN_COMPLETENESS = 0.99


@dataclass(frozen=True)
class JobAdvice:
    """Advice for a job from its latest successful runs that have the newest configuration.

    ``runs`` is their number; ``left_out`` further runs have incomplete data or, if they come from logs, did not
    succeed. If ``advice`` is empty, ``reason`` says why. ``usual_cost`` is the median cost of a run in ``currency``;
    both are None if prices or allocations are not known. The cost under an advice is ``usual_cost`` times its
    ``core_ratio``.
    """

    job_key: str
    runs: int
    left_out: int
    advice: list[Advice]
    reason: str | None
    usual_cost: float | None
    currency: str | None


def job_advice(client: Client, job_key: str, prices: Prices | None, now_ms: int) -> JobAdvice | None:
    """Return the advice for a job; None if the store has no run of it in the last 90 days. Raises StoreEmptyError."""
    wanted = RunFilter(since_ms=now_ms - PERIOD_MS, status="succeeded", job_key=job_key)
    found = find_runs(client, wanted, MAX_RUNS).runs
    if not found and not find_runs(client, dataclasses.replace(wanted, status=""), 1).runs:
        return None
    latest = {each.app_id: each for each in found if (each.completeness or 0) >= MIN_COMPLETENESS}
    known = [run for each in latest for run in [comparable_run(client, each)] if run is not None]
    costs = [_cost(client, latest[each.app_id], prices) for each in same_configuration(known)]
    amounts = [each for each in costs if each is not None]
    return dataclasses.replace(
        advice_from(job_key, known, len(found) - len(latest)),
        usual_cost=statistics.median(amounts) if amounts else None,
        currency=prices.currency if prices else None,
    )


def advice_from(job_key: str, runs: Sequence[ComparableRun], left_out: int = 0) -> JobAdvice:
    """Return the advice from successful runs of a job, without costs; ``left_out`` runs could not be used."""
    known = same_configuration(runs)
    advice = advise(known)
    return JobAdvice(
        job_key=job_key,
        runs=len(known),
        left_out=left_out,
        advice=advice,
        reason=None if advice else _reason(known),
        usual_cost=None,
        currency=None,
    )


def _cost(client: Client, run: Run, prices: Prices | None) -> float | None:
    allocated = allocation(client, run)
    if allocated is None:
        return None
    memory = allocated.memory_mib_ms
    return cost(allocated.core_ms / 1000, None if memory is None else memory / 1024 / 1000, prices)


def _reason(runs: Sequence[ComparableRun]) -> str:
    if len(runs) < MIN_RUNS:
        return (
            f"Advice needs {MIN_RUNS} successful runs with the same configuration and complete data; "
            f"there are {len(runs)}."
        )
    if is_short(runs):
        return f"The runs are shorter than {MIN_DURATION_MS // 1000} s, so start-up determines their duration."
    return "No setting that Sparkfuse can predict would change the duration or the cost of these runs much."
