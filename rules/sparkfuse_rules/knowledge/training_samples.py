"""Convert rows to training samples, and expectations to columns of rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sparkfuse_rules.knowledge.baseline import moved
from sparkfuse_rules.knowledge.baseline_model import Expectation, Fit, Sample
from sparkfuse_rules.knowledge.work import work_of

# If a run's completeness is below this share, the run is not a training sample. Its findings are then at most warnings,
# and the fuse does not act on the run.
COMPLETE = 0.99
# The fingerprint under which the baseline of the whole application is stored.
APPLICATION = "application"

Columns = Mapping[str, Any]


def stage_sample(run_key: str, completeness: float, stage: Columns, learned_ms: int = 0) -> Sample | None:
    """Return the training sample of a stage attempt, or None if it is not a complete and successful first attempt.

    Later attempts are excluded, because they run only a part of the tasks. ``stage`` has the columns of stage_live;
    absent columns are missing or None. ``learned_ms`` is the end of the run.
    """
    if stage.get("status") != "succeeded" or stage.get("stage_attempt") or stage.get("elapsed_ms") is None:
        return None
    if completeness < COMPLETE or (stage.get("succeeded_tasks") or 0) < COMPLETE * (stage.get("num_tasks") or 0):
        return None
    return replace(_sample(run_key, stage, learned_ms), disk_spilled_bytes=stage.get("disk_spilled_bytes"))


def application_sample(run_key: str, completeness: float, application: Columns, learned_ms: int = 0) -> Sample | None:
    """Return the training sample of an application, or None if the run is not complete and successful.

    ``application`` has the columns of app_live.
    """
    if application.get("status") != "succeeded" or completeness < COMPLETE or application.get("elapsed_ms") is None:
        return None
    return replace(
        _sample(run_key, application, learned_ms),
        spark_version=application.get("spark_version") or None,
        executors=application.get("executors") or None,
    )


def plan_of(fingerprints: Iterable[str]) -> str | None:
    """Return a hash of the fingerprints of an application's stages, None if there are none."""
    text = "\n".join(sorted(set(fingerprints)))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest() if text else None


def driver_idle_columns(fitted: Fit, application: Columns) -> dict[str, Any]:
    """Return the column of app_live with the p95 of the driver's idle time; empty if the p95 is unknown."""
    elapsed_ms, between_ms = application.get("elapsed_ms"), application.get("between_jobs_ms")
    if fitted.driver_idle is None or elapsed_ms is None or between_ms is None:
        return {}
    return {"expected_between_p95_ms": fitted.driver_idle.bound_ms(elapsed_ms, between_ms)}


def usual_spill_columns(fitted: Fit) -> dict[str, Any]:
    """Return the column of stage_live with the largest spill of earlier runs; empty if that spill is unknown."""
    spilled = fitted.disk_spilled_bytes
    return {} if spilled is None else {"usual_disk_spilled_bytes": spilled}


def ended_well(failed_jobs: int | None, failed_stages: int, running_jobs: int | None = 0) -> bool:
    """Return whether an ended application was successful.

    No job failed or still ran when it ended, and no last attempt of a stage failed.
    """
    return not failed_jobs and not failed_stages and not running_jobs


def expected_columns(expectation: Expectation, elapsed_ms: int | None, cpu_ms: int | None) -> dict[str, Any]:
    """Return the expectation as columns of stage_live and app_live; CPU columns only if CPU time is known."""
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
    if expectation.history is not None and expectation.runs:
        columns |= expectation.history.columns(expectation.expected_ms, elapsed_ms, expectation.expected_cpu_ms, cpu_ms)
    return columns


def capped_severity(severity: str, completeness: float) -> str:
    """Return the severity; if the completeness is below 0.99, at most warning."""
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
