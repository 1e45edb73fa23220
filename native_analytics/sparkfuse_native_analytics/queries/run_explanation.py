"""Explains why a run was slow or failed: its first cause, the excess of its stages, and its findings."""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.expected_rows import ExpectedDuration, expected_durations
from sparkfuse_native_analytics.queries.failure_rows import FailureCause, failure_cause
from sparkfuse_native_analytics.queries.finding_rows import Finding
from sparkfuse_native_analytics.queries.run_report import StageReport, findings_of_run, stage_report
from sparkfuse_native_analytics.queries.run_rows import Run
from sparkfuse_native_analytics.queries.run_rows import run as run_details

VERDICTS = ("failed", "slow", "as_expected", "unknown")


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
class RunExplanation:
    """Why a run was slow or failed.

    ``verdict`` is ``failed``; ``slow`` if the run exceeds the p95 of its expected duration or a stage that of its own;
    ``as_expected``; or ``unknown`` if earlier runs give no expectation, or the run has not ended and no stage is slow.
    ``excess`` lists the stages that took longer than expected, the largest excess first; stages overlap, so the excess
    of stages does not add up to that of the run. ``excess_ms`` is the duration of the run minus its expected duration.
    ``stages_compared`` of ``stages_total`` stages have an expectation. ``completeness`` is that of the run, 0 to 1.
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
        stage_report(each, known.stages.get((each.stage_id, each.stage_attempt)))
        for each in details.stages
        if (each.stage_id, each.stage_attempt) in known.stages
    ]
    excess = sorted(
        (found for each in compared for found in [_excess(each)] if found is not None and found.excess_ms > 0),
        key=lambda each: (-each.excess_ms, each.stage_id),
    )
    excess_ms = run.elapsed_ms - known.run.expected_ms if known.run and run.elapsed_ms is not None else None
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
