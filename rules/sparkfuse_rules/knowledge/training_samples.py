"""What a run may teach, what its evidence allows, and how an expectation becomes columns of a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkfuse_rules.knowledge.baseline import moved
from sparkfuse_rules.knowledge.baseline_model import Expectation, Fit, Sample
from sparkfuse_rules.knowledge.work import work_of

# Evidence below this is not complete: it neither teaches nor pages nor kills.
COMPLETE = 0.99
# Stands where a stage has its fingerprint: the whole application has a baseline of its own.
APPLICATION = "application"

Columns = Mapping[str, Any]


def stage_sample(run_key: str, completeness: float, stage: Columns, learned_ms: int = 0) -> Sample | None:
    """What a stage attempt teaches: only a first one that ended well, with all its evidence; a later one runs a part.

    ``stage`` has columns of the view stage_live, absent ones left out or None; ``learned_ms`` is when its run ended.
    """
    if stage.get("status") != "succeeded" or stage.get("stage_attempt") or stage.get("elapsed_ms") is None:
        return None
    if completeness < COMPLETE or (stage.get("succeeded_tasks") or 0) < COMPLETE * (stage.get("num_tasks") or 0):
        return None
    return _sample(run_key, stage, learned_ms)


def application_sample(run_key: str, completeness: float, application: Columns, learned_ms: int = 0) -> Sample | None:
    """What a whole application teaches, by its columns of app_live: when it ended well, with all its evidence."""
    if application.get("status") != "succeeded" or completeness < COMPLETE or application.get("elapsed_ms") is None:
        return None
    return _sample(run_key, application, learned_ms)


def driver_idle_columns(fitted: Fit, application: Columns) -> dict[str, Any]:
    """The column of app_live that says how long its driver may have waited, where that is known."""
    elapsed_ms, between_ms = application.get("elapsed_ms"), application.get("between_jobs_ms")
    if fitted.driver_idle is None or elapsed_ms is None or between_ms is None:
        return {}
    return {"expected_between_p95_ms": fitted.driver_idle.bound_ms(elapsed_ms, between_ms)}


def ended_well(failed_jobs: int | None, failed_stages: int) -> bool:
    """Whether an application that ended may teach: no job failed, and no stage whose last attempt failed."""
    return not failed_jobs and not failed_stages


def expected_columns(expectation: Expectation, elapsed_ms: int | None, cpu_ms: int | None) -> dict[str, Any]:
    """The columns of stage_live and app_live that say what was expected and what moved; CPU only where it is known."""
    columns: dict[str, Any] = {
        "baseline_runs": expectation.runs,
        "expected_ms": expectation.expected_ms,
        "expected_p95_ms": expectation.expected_p95_ms,
        "work_known": expectation.work_known,
        "work_measure": expectation.work_measure,
        "moved": moved(expectation, elapsed_ms, cpu_ms),
    }
    if expectation.expected_cpu_ms is not None and expectation.expected_cpu_p95_ms is not None:
        columns["expected_cpu_ms"] = expectation.expected_cpu_ms
        columns["expected_cpu_p95_ms"] = expectation.expected_cpu_p95_ms
    return columns


def capped_severity(severity: str, completeness: float) -> str:
    """The severity that evidence of this completeness may have: below 0.99 nothing is critical."""
    return "warning" if severity == "critical" and completeness < COMPLETE else severity


def _sample(run_key: str, columns: Columns, learned_ms: int) -> Sample:
    return Sample(
        run_key=run_key,
        learned_ms=learned_ms,
        wall_ms=columns["elapsed_ms"],
        cpu_ms=columns.get("finished_cpu_ms"),
        work_bytes=columns.get("work_bytes"),
        work_records=columns.get("work_records"),
        num_tasks=columns.get("num_tasks"),
        operator_rows=work_of(columns).operator_rows,
        between_jobs_ms=columns.get("between_jobs_ms"),
    )
