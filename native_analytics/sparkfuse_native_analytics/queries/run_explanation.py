"""Explains why a run was slow or failed: its first cause, the causes of its excess, and its findings."""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.compare import Comparison, compare
from sparkfuse_native_analytics.compare.comparison import plain_name
from sparkfuse_native_analytics.compare.difference_causes import CAUSES
from sparkfuse_native_analytics.compare.run import Run as ComparableRun
from sparkfuse_native_analytics.compare.simulation import Prediction, predictions
from sparkfuse_native_analytics.queries.comparable_run import comparable, comparable_run
from sparkfuse_native_analytics.queries.expected_rows import ExpectedDuration, expected_durations
from sparkfuse_native_analytics.queries.failure_rows import FailureCause, failure_cause
from sparkfuse_native_analytics.queries.finding_rows import Finding
from sparkfuse_native_analytics.queries.job_history import PERIOD_MS
from sparkfuse_native_analytics.queries.run_filter import RunFilter
from sparkfuse_native_analytics.queries.run_pages import find_runs
from sparkfuse_native_analytics.queries.run_report import StageReport, findings_of_run, stage_report
from sparkfuse_native_analytics.queries.run_rows import Run
from sparkfuse_native_analytics.queries.run_rows import run as run_details

VERDICTS = ("failed", "slow", "as_expected", "unknown")
# A usual run is searched among this many latest runs of the job.
USUAL_RUNS = 20
SUCCEEDED = "succeeded"
# Predictions that change the duration by less than either limit are left out: a share of it, and ms.
MIN_SAVED_SHARE, MIN_SAVED_MS = 0.02, 1_000


@dataclass(frozen=True)
class StageExcess:
    """A stage attempt that took longer than expected; all durations are in ms.

    ``above_p95`` is True if the duration exceeds the p95 of the expectation, so that chance hardly explains it.
    ``completeness`` is that of the stage's numbers, from 0 to 1.
    """

    stage_id: int
    stage_attempt: int
    query_id: int | None
    stage_name: str | None
    status: str | None
    elapsed_ms: int
    expected_ms: int
    expected_p95_ms: int
    excess_ms: int
    above_p95: bool
    failed_tasks: int | None
    disk_spilled_bytes: int | None
    completeness: float | None


@dataclass(frozen=True)
class CauseOfExcess:
    """How many ms one cause adds to the difference from the usual run, or saves if negative."""

    cause: str
    difference_ms: int
    meaning: str


@dataclass(frozen=True)
class QueryExcess:
    """How many ms the stages of a query add to the difference from the usual run.

    ``usual_ms`` and ``took_ms`` are the times during which the run waited for the query's stages; a time is None if
    that run does not have the query.
    """

    name: str | None
    query_id: int | None
    usual_ms: int | None
    took_ms: int | None
    difference_ms: int


@dataclass(frozen=True)
class UsualRun:
    """The earlier run with which a run is compared.

    It is the successful run, among the latest ``runs`` ones of the job, whose duration is nearest to the expected
    duration, or to the median duration if nothing is expected. The values of ``causes`` add up to ``difference_ms``;
    so do those of ``queries`` and ``outside_queries_ms``. ``limits`` says what the evidence lacks.
    """

    app_id: str
    app_start_ms: int
    elapsed_ms: int
    runs: int
    difference_ms: int
    causes: list[CauseOfExcess]
    queries: list[QueryExcess]
    outside_queries_ms: int
    limits: list[str]


@dataclass(frozen=True)
class RunExplanation:
    """Why a run was slow or failed.

    ``verdict`` is ``failed``; ``slow`` if the run exceeds the p95 of its expected duration or a stage that of its own;
    ``as_expected``; or ``unknown`` if earlier runs give no expectation, or the run has not ended and no stage is slow.
    ``excess`` lists the stages that took longer than expected, the largest excess first; stages overlap, so the excess
    of stages does not add up to that of the run. ``excess_ms`` is the duration of the run minus its expected duration.
    ``stages_compared`` of ``stages_total`` stages have an expectation. ``completeness`` is that of the run, 0 to 1.
    ``usual`` splits the difference from an earlier run by cause and query; it is None if the run did not succeed or the
    job has no earlier successful run. ``predictions`` are the durations of the run under one change each, the largest
    saving first, without changes of less than 2 % or 1 s; they are empty if the run has not ended.
    """

    run: Run
    verdict: str
    first_cause: FailureCause | None
    expected: ExpectedDuration | None
    excess_ms: int | None
    excess: list[StageExcess]
    stages_compared: int
    stages_total: int
    findings: list[Finding]
    completeness: float | None
    usual: UsualRun | None
    predictions: list[Prediction]


def explain_run(client: Client, app_id: str, limit: int) -> RunExplanation | None:
    """Explain the latest attempt of an application with at most ``limit`` stages; None if it is not stored.

    Raises StoreEmptyError.
    """
    details = run_details(client, app_id)
    if details is None:
        return None
    run = details.run
    known = expected_durations(client, run, details.stages)
    compared = [
        stage_report(each, known) for each in details.stages if (each.stage_id, each.stage_attempt) in known.stages
    ]
    excess = sorted(
        (found for each in compared for found in [_excess(each)] if found is not None and found.excess_ms > 0),
        key=lambda each: (-each.excess_ms, each.stage_id),
    )
    excess_ms = run.elapsed_ms - known.run.expected_ms if known.run and run.elapsed_ms is not None else None
    ended = comparable(client, details) if run.ended_ms is not None else None
    return RunExplanation(
        run=run,
        verdict=_verdict(run, known.run, excess),
        first_cause=failure_cause(client, details) if run.status == "failed" else None,
        expected=known.run,
        excess_ms=excess_ms,
        excess=excess[:limit],
        stages_compared=len(compared),
        stages_total=len(details.stages),
        findings=findings_of_run(client, app_id)[:limit],
        completeness=run.completeness,
        usual=_usual(client, run, ended, known.run, limit) if ended and run.status == SUCCEEDED else None,
        predictions=_predictions(ended) if ended else [],
    )


def _predictions(run: ComparableRun) -> list[Prediction]:
    least = max(MIN_SAVED_MS, run.wall_ms * MIN_SAVED_SHARE)
    found = [each for each in predictions(run) if abs(each.saved_ms) >= least]
    return sorted(found, key=lambda each: -each.saved_ms)


def _usual(
    client: Client, run: Run, after: ComparableRun, expected: ExpectedDuration | None, limit: int
) -> UsualRun | None:
    wanted = RunFilter(
        since_ms=run.app_start_ms - PERIOD_MS,
        until_ms=run.app_start_ms,
        status=SUCCEEDED,
        job_key=run.job_key,
        cluster=run.cluster or "",
    )
    found = find_runs(client, wanted, USUAL_RUNS + 1).runs
    earlier = [(each.elapsed_ms, each) for each in found if each.elapsed_ms and each.app_id != run.app_id][:USUAL_RUNS]
    if not earlier:
        return None
    target = expected.expected_ms if expected else sorted(elapsed for elapsed, _ in earlier)[len(earlier) // 2]
    _, nearest = min(earlier, key=lambda each: (abs(each[0] - target), -each[1].app_start_ms))
    before = comparable_run(client, nearest.app_id)
    if before is None:
        return None
    return _split(compare(before, after), len(earlier), limit)


def _split(found: Comparison, runs: int, limit: int) -> UsualRun:
    queries = [
        QueryExcess(
            name=plain_name(query.name),
            query_id=each.after.query_id if each.after else None,
            usual_ms=each.before_ms if each.before else None,
            took_ms=each.after_ms if each.after else None,
            difference_ms=each.difference_ms,
        )
        for each in found.queries
        for query in [each.after or each.before]
        if query is not None
    ]
    return UsualRun(
        app_id=found.before.app_id,
        app_start_ms=found.before.started_ms,
        elapsed_ms=found.before.wall_ms,
        runs=runs,
        difference_ms=found.difference_ms,
        causes=[CauseOfExcess(cause, value, CAUSES[cause]) for cause, value in found.causes],
        queries=queries[:limit],
        outside_queries_ms=found.difference_ms - sum(each.difference_ms for each in queries[:limit]),
        limits=list(dict.fromkeys([*found.after.limits, *found.before.limits])),
    )


def _excess(report: StageReport) -> StageExcess | None:
    stage, expected = report.stage, report.expected
    if expected is None or report.excess_ms is None or stage.elapsed_ms is None:
        return None
    return StageExcess(
        stage_id=stage.stage_id,
        stage_attempt=stage.stage_attempt,
        query_id=stage.sql_execution_id,
        stage_name=stage.stage_name or stage.name,
        status=stage.status,
        elapsed_ms=stage.elapsed_ms,
        expected_ms=expected.expected_ms,
        expected_p95_ms=expected.expected_p95_ms,
        excess_ms=report.excess_ms,
        above_p95=stage.elapsed_ms > expected.expected_p95_ms,
        failed_tasks=stage.failed_tasks,
        disk_spilled_bytes=stage.disk_spilled_bytes,
        completeness=stage.completeness,
    )


def _verdict(run: Run, expected: ExpectedDuration | None, excess: list[StageExcess]) -> str:
    if run.status == "failed":
        return "failed"
    exceeds = expected is not None and run.elapsed_ms is not None and run.elapsed_ms > expected.expected_p95_ms
    if exceeds or any(each.above_p95 for each in excess):
        return "slow"
    return "as_expected" if expected is not None and run.status == "succeeded" else "unknown"
