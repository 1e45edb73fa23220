"""Computes expected durations of an application and its stages, from the runs that ended before it started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sparkfuse_contracts.generated.view_rows import AppLiveRow, StageLiveRow
from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.offline.earlier_runs import EarlierRuns, training_samples
from sparkfuse_native_analytics.offline.executions import is_long_lived
from sparkfuse_rules.knowledge.baseline import Fit
from sparkfuse_rules.knowledge.training_samples import (
    APPLICATION,
    driver_idle_columns,
    expected_columns,
    usual_spill_columns,
)
from sparkfuse_rules.knowledge.work import work_of

_HOUR_MS = 3_600_000
_STAGE_COLUMNS = (
    "stage_fingerprint", "status", "submitted_ms", "elapsed_ms", "finished_cpu_ms", "work_bytes", "work_records",
    "operator_rows_max",
)  # fmt: skip


def stage_expectations(application: Application, earlier: EarlierRuns) -> list[StageLiveRow]:
    """Return the columns of stage_live that baselines fill, by stage row; none if there are too few earlier runs.

    In a long-lived application, the earlier queries of the application count as earlier runs.
    """
    known = earlier.including(training_samples(application)) if is_long_lived(application) else earlier
    if application.started_ms is None or not known.knows(application.job_key):
        return [{} for _ in application.fingerprints]
    fits: dict[tuple[str, int, int], Fit | None] = {}
    found: list[StageLiveRow] = []
    rows = application.stages(*_STAGE_COLUMNS)
    for stage, fingerprint in zip(rows, application.fingerprints, strict=True):
        started_ms = max(application.started_ms, stage["submitted_ms"] or 0)
        # Within an hour, the fit of the same samples is the same.
        samples = known.samples_before(started_ms, application.job_key, fingerprint)
        key = (fingerprint, samples, started_ms // _HOUR_MS)
        if key not in fits:
            fits[key] = known.baseline_before(started_ms, application.job_key, fingerprint)
        columns = cast(StageLiveRow, expected(fits[key], stage, stage["status"] == "running"))
        # A log does not contain the progress of running tasks, so the elapsed time is used instead of a projection.
        found.append({**columns, "judged_ms": stage["elapsed_ms"]} if columns else columns)
    return found


def application_expectation(application: Application, earlier: EarlierRuns) -> AppLiveRow:
    """Return the columns of app_live that baselines fill; none if there are too few earlier runs."""
    if application.started_ms is None or not earlier.runs_of(application.job_key):
        return {}
    fitted = earlier.baseline_before(application.started_ms, application.job_key, APPLICATION)
    return cast(AppLiveRow, expected(fitted, application.row, application.row["status"] == "running"))


def expected(fitted: Fit | None, row: Mapping[str, Any], running: bool) -> dict[str, Any]:
    """Return the columns that a baseline fills in one row; no columns if there is no baseline."""
    if fitted is None:
        return {}
    expectation = fitted.at(work_of(row), running)
    found = expected_columns(expectation, row.get("elapsed_ms"), row.get("finished_cpu_ms"))
    return {**found, **driver_idle_columns(fitted, row), **usual_spill_columns(fitted)}
