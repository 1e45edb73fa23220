"""What was expected of an application and of each of its stages, by what was known before it started."""

from __future__ import annotations

from typing import Any

from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.offline.history import History
from sparkfuse_rules.knowledge.baseline import Fit
from sparkfuse_rules.knowledge.training_samples import APPLICATION, driver_idle_columns, expected_columns
from sparkfuse_rules.knowledge.work import work_of

Columns = dict[str, Any]
_ASKED = (
    "stage_fingerprint", "status", "elapsed_ms", "finished_cpu_ms", "work_bytes", "work_records",
    "operator_rows_max",
)  # fmt: skip


def stage_expectations(application: Application, history: History) -> list[Columns]:
    """For each row of stages the columns of stage_live that baselines fill; empty while too little is known."""
    if application.started_ms is None or not history.runs_of(application.job_key):
        return [{} for _ in application.fingerprints]
    fits: dict[str, Fit | None] = {}
    found = []
    for stage in application.stages(*_ASKED):
        fingerprint = stage["stage_fingerprint"]
        if fingerprint not in fits:
            fits[fingerprint] = history.known_before(application.started_ms, application.job_key, fingerprint)
        known = expected(fits[fingerprint], stage, stage["status"] == "running")
        # A log has no progress of running tasks to project from: what is judged is what it took.
        found.append({**known, "judged_ms": stage["elapsed_ms"]} if known else known)
    return found


def application_expectation(application: Application, history: History) -> Columns:
    """The same for the whole application, as columns of app_live."""
    if application.started_ms is None or not history.runs_of(application.job_key):
        return {}
    fitted = history.known_before(application.started_ms, application.job_key, APPLICATION)
    return expected(fitted, application.row, application.row["status"] == "running")


def expected(fitted: Fit | None, row: Any, running: bool) -> Columns:
    """The columns that a baseline fills of a stage or an application; empty while too little is known."""
    if fitted is None:
        return {}
    expectation = fitted.at(work_of(row), running)
    found = expected_columns(expectation, row.get("elapsed_ms"), row.get("finished_cpu_ms"))
    return {**found, **driver_idle_columns(fitted, row)}
