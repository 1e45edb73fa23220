"""Computes the view failure_live from an event log: failed task attempts by stage attempt and failure class."""

from __future__ import annotations

from typing import cast

from sparkfuse_contracts.generated.view_rows import FailureLiveRow
from sparkfuse_native_analytics.event_logs.table_rows import FailureRow, StageRow
from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_rules.knowledge.failures import classify
from sparkfuse_rules.knowledge.first_cause import first_cause

VIEW = "failure_live"
# Spark's reason for task attempts that did not fail: they succeeded, and then their executor was lost.
RESUBMITTED = "Resubmitted"
_COPIED = (
    "stage_id", "stage_attempt", "failure_class", "failure_reason", "task_index", "executor_id", "host", "hosts",
    "failing_tasks", "attempts_max",
)  # fmt: skip


def failure_rows(application: Application) -> list[FailureLiveRow]:
    """Return rows of failure_live, one for each failure class of each stage attempt, most failures first."""
    failures = [row for row in application.tables["failures"].to_pylist() if row["failure_class"] != RESUBMITTED]
    if not failures:
        return []
    stages = dict(zip(application.keys, _stages(application), strict=True))
    rows = [_row(failure, stages[failure["stage_id"], failure["stage_attempt"]]) for failure in failures]
    return sorted(rows, key=lambda row: -(row["failed_tasks"] or 0))


def _stages(application: Application) -> list[FailureLiveRow]:
    """Return, for each stage attempt, the columns of a failure row that come from the stage."""
    rows: list[StageRow] = application.tables["stages"].select(["tasks", "resubmitted", "num_tasks"]).to_pylist()
    return [
        {
            "stage_name": application.names.stage_name(stage_id),
            "stage_fingerprint": fingerprint,
            "finished_tasks": stage["tasks"] - stage["resubmitted"],
            "num_tasks": stage["num_tasks"],
        }
        for stage, fingerprint, (stage_id, _) in zip(rows, application.fingerprints, application.keys, strict=True)
    ]


def _row(failure: FailureRow, stage: FailureLiveRow) -> FailureLiveRow:
    cause = classify(failure["failure_class"], failure["failure_reason"])
    copied = cast(FailureLiveRow, {name: value for name, value in failure.items() if name in _COPIED})
    return {
        **copied,
        **stage,
        "failed_tasks": failure["failed"],
        "failure_kind": cause.kind,
        "failure": cause.reason,
        "retry": cause.retry,
        "first_cause": first_cause(failure["failure_reason"]),
    }
