"""The view job_live at rest: the jobs that ended badly, by the same reasoning as detect's (troubles.py)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sparkfuse_native_analytics.at_rest.application import Application
from sparkfuse_native_analytics.at_rest.application_row import SUCCEEDED
from sparkfuse_native_analytics.at_rest.stage_rows import held
from sparkfuse_rules.knowledge.causes import first_cause
from sparkfuse_rules.knowledge.failures import UNKNOWN, Failure, classify
from sparkfuse_rules.knowledge.losses import BENIGN

VIEW = "job_live"
# Failures that say of a job that somebody ended it on purpose.
_CANCELLED = frozenset({"cancelled", "context_stopped"})
_STAGE_IN_TEXT = re.compile(r"\b(?:[Ss]tage|ResultStage|ShuffleMapStage) (\d{1,9})\b")


def job_rows(application: Application) -> list[dict[str, Any]]:
    """The columns of job_live, a row for each job that ended badly, the first to end first."""
    jobs = application.tables["jobs"].to_pylist()
    failed = [job for job in jobs if job["result"] not in (None, SUCCEEDED)]
    if not failed:
        return []
    stages = _failed_stages(application)
    return [_row(job, stages) for job in sorted(failed, key=lambda job: (job["completed_ms"] or 0, job["job_id"]))]


def _failed_stages(application: Application) -> Mapping[int, Mapping[str, Any]]:
    """The stages whose last attempt failed, by id, the first to end first."""
    columns = ["stage_id", "status", "completed_ms", "failure_reason"]
    rows = application.tables["stages"].select(columns).to_pylist()
    last = {row["stage_id"]: row for row in rows}  # by attempt, so that the last one stays
    failed = [row for row in last.values() if row["status"] == "failed"]
    return {row["stage_id"]: row for row in sorted(failed, key=lambda row: row["completed_ms"] or 0)}


def _row(job: Mapping[str, Any], failed: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    of_job = set(job["stage_ids"])
    stage = next((failed[stage_id] for stage_id in failed if stage_id in of_job), None)
    reason, what = _why(job["failure_reason"] or "", (stage["failure_reason"] if stage else None) or "")
    status = "cancelled" if what.reason in _CANCELLED else "failed"
    if status == "failed" and what.kind == BENIGN:
        # What harms no task by itself has harmed this job.
        what = Failure("infrastructure", what.reason, what.retry)
    elapsed = None
    if job["completed_ms"] is not None and job["submitted_ms"] is not None:
        elapsed = held(max(0, job["completed_ms"] - job["submitted_ms"]))
    return {
        "job_id": job["job_id"],
        "description": job["description"],
        "status": status,
        "elapsed_ms": elapsed,
        "failure_reason": reason or None,
        "failure_kind": what.kind,
        "failure": what.reason,
        "retry": what.retry,
        "first_cause": first_cause(reason),
        "failed_stage_id": _failed_stage(stage, reason) if status == "failed" else None,
    }


def _why(of_job: str, of_stage: str) -> tuple[str, Failure]:
    """The job's own text, or that of the stage that failed first where the job's lacks (old logs) or says nothing."""
    found, by_stage = classify(None, of_job), classify(None, of_stage)
    if of_stage and (not of_job.strip() or (found == UNKNOWN and by_stage != UNKNOWN)):
        return of_stage, by_stage
    return of_job, found


def _failed_stage(stage: Mapping[str, Any] | None, reason: str) -> int | None:
    if stage is not None:
        return int(stage["stage_id"])
    named = _STAGE_IN_TEXT.search(reason)
    return int(named[1]) if named else None
