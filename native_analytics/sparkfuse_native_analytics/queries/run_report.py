"""One run with all that the store has: findings, expected durations, executors, cost, steps of the fuse."""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.allocation_rows import Allocation, allocation
from sparkfuse_native_analytics.queries.executor_rows import Executor, executors
from sparkfuse_native_analytics.queries.expected_rows import (
    ExpectedDuration,
    ExpectedDurations,
    expected_durations,
)
from sparkfuse_native_analytics.queries.finding_rows import Finding, FindingFilter, latest_findings
from sparkfuse_native_analytics.queries.fuse_steps import FuseStep, fuse_steps
from sparkfuse_native_analytics.queries.run_rows import Query, Run, Stage
from sparkfuse_native_analytics.queries.run_rows import run as run_details
from sparkfuse_rules.knowledge.money import cost
from sparkfuse_rules.prices import Prices

MAX_FINDINGS = 100
MAX_STEPS = 50


@dataclass(frozen=True)
class RunCost:
    """What a run has cost so far, in ``currency``; ``core_ms`` is cores x ms, ``memory_mib_ms`` is MiB x ms.

    ``amount`` is None if it is unknown, and ``unknown_reason`` says why. ``prices`` names the origin of the prices.
    ``completeness`` is that of the run, from 0 to 1; None if it is unknown.
    """

    app_id: str
    amount: float | None
    currency: str | None
    core_ms: int | None
    memory_mib_ms: int | None
    prices: str | None
    completeness: float | None
    unknown_reason: str | None


@dataclass(frozen=True)
class StageReport:
    """A stage attempt, the duration that was expected for its work, and the excess over it in ms; None if unknown.

    ``core_ms`` is the core time of the stage's ended tasks, and ``cost`` what it has cost, in ``currency``.
    """

    stage: Stage
    expected: ExpectedDuration | None
    excess_ms: int | None
    query_name: str | None = None
    core_ms: int | None = None
    cost: float | None = None
    currency: str | None = None


@dataclass(frozen=True)
class RunReport:
    """One run. Lists contain at most the requested number of rows, the ``*_total`` the numbers of all rows.

    ``queries`` and ``stages`` are the latest ones by id; ``findings`` are the latest first. ``expected`` is for the
    usual work of the job. ``executors`` has at most one row more than requested; no number of all executors is known.
    ``deadline_ms`` is in ms since the epoch; ``deadline_source`` is setting, or history for the p95 of earlier runs.
    """

    run: Run
    expected: ExpectedDuration | None
    cost: RunCost
    findings: list[Finding]
    queries: list[Query]
    queries_total: int
    stages: list[StageReport]
    stages_total: int
    executors: list[Executor]
    fuse_steps: list[FuseStep]
    deadline_ms: int | None = None
    deadline_source: str | None = None


def run_report(client: Client, app_id: str, prices: Prices | None, limit: int) -> RunReport | None:
    """Return the latest attempt of an application with at most ``limit`` rows per list; None if it is not stored.

    Raises StoreEmptyError.
    """
    details = run_details(client, app_id)
    if details is None:
        return None
    run, shown = details.run, details.stages[-limit:]
    expected = expected_durations(client, run, shown)
    deadline = next((each for each in expected.published.values() if each.deadline_ms is not None), None)
    return RunReport(
        run=run,
        expected=expected.run,
        cost=_run_cost(run, allocation(client, run), prices),
        findings=findings_of_run(client, app_id),
        queries=details.queries[-limit:],
        queries_total=len(details.queries),
        stages=[stage_report(each, expected) for each in shown],
        stages_total=len(details.stages),
        executors=executors(client, run, limit + 1),
        fuse_steps=fuse_steps(client, MAX_STEPS, app_id=app_id),
        deadline_ms=deadline.deadline_ms if deadline else None,
        deadline_source=deadline.deadline_source if deadline else None,
    )


def findings_of_run(client: Client, app_id: str) -> list[Finding]:
    """Return the findings that list a run of the application, the latest first. Raises StoreEmptyError."""
    return latest_findings(client, FindingFilter(app_id=app_id), MAX_FINDINGS)


def stage_report(stage: Stage, of_run: ExpectedDurations) -> StageReport:
    """Return a stage with its excess over the expected duration, and its cost."""
    place = (stage.stage_id, stage.stage_attempt)
    expected, published = of_run.stages.get(place), of_run.published.get(place)
    excess = stage.elapsed_ms - expected.expected_ms if expected and stage.elapsed_ms is not None else None
    if published is None:
        return StageReport(stage, expected, excess)
    return StageReport(
        stage, expected, excess, published.query_name, published.core_ms, published.cost, published.currency
    )


def run_cost(client: Client, app_id: str, prices: Prices | None) -> RunCost | None:
    """Return the cost of the latest attempt of an application; None if it is not stored. Raises StoreEmptyError."""
    details = run_details(client, app_id)
    return None if details is None else _run_cost(details.run, allocation(client, details.run), prices)


def _run_cost(run: Run, allocated: Allocation | None, prices: Prices | None) -> RunCost:
    memory = allocated.memory_mib_ms if allocated else None
    amount = None
    if allocated:
        amount = cost(allocated.core_ms / 1000, None if memory is None else memory / 1024 / 1000, prices)
    return RunCost(
        app_id=run.app_id,
        amount=amount,
        currency=prices.currency if prices else None,
        core_ms=allocated.core_ms if allocated else None,
        memory_mib_ms=memory,
        prices=prices.source if prices else None,
        completeness=run.completeness,
        unknown_reason=None if amount is not None else _unknown_reason(allocated, prices),
    )


def _unknown_reason(allocated: Allocation | None, prices: Prices | None) -> str:
    if prices is None:
        return "prices are switched off in sparkfuse.yaml"
    if allocated is None:
        return "the store has no allocation of cores and memory for this run, as for runs from event logs"
    if allocated.memory_mib_ms is None:
        return "the memory of an executor of this run is not known"
    return "no executor of this run has been allocated yet"
