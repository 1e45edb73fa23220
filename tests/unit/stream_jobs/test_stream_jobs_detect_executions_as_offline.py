"""Tests that live and offline learn the same from the recorded logs of a Connect server and of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow, StageLive
from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.offline.application import Application, read_application
from sparkfuse_native_analytics.offline.earlier_runs import training_samples
from sparkfuse_rules.knowledge.scrubbing import scrub_query
from sparkfuse_stream_jobs.detect.identify import step
from sparkfuse_stream_jobs.detect.state.run_state import in_memory_run_state
from tests.unit.stream_jobs.detect_rows import WINDOW_MS

LOGS = Path(__file__).parents[2] / "logs"
# The order of the rows of one window.
ORDER = (
    "application_started", "job_started", "sql_started", "stage_started", "stage", "application", "sql_ended",
    "job_ended", "application_ended",
)  # fmt: skip
Event = tuple[int, str, dict[str, Any]]


def plans(application: Application) -> dict[int, list[str]]:
    """Return the nodes of each query's first plan, as the plugin reports them."""
    found: dict[int, list[str]] = {}
    for node in application.tables["plan_nodes"].to_pylist():
        if node["plan_version"] == 0:
            text = f"{node['name'] or ''} {node['condition'] or ''}".strip()
            found.setdefault(node["sql_execution_id"], []).append(scrub_query(text))
    return found


def events(application: Application) -> Iterator[Event]:
    """Return what happened in the application: time, kind of row, and columns."""
    started, nodes = application.started_ms or 0, plans(application)
    ended = application.ended_ms or 0
    yield started, "application_started", {"name": application.name}
    for job in application.tables["jobs"].to_pylist():
        known = {name: job[name] for name in ("job_id", "stage_ids", "description", "sql_execution_id")}
        yield job["submitted_ms"], "job_started", known
        result = {"job_id": job["job_id"], "succeeded": job["result"] == "JobSucceeded"}
        yield job["completed_ms"], "job_ended", {**result, "completed_ms": job["completed_ms"]}
    for query in application.tables["sql_executions"].to_pylist():
        number = query["sql_execution_id"]
        yield query["started_ms"], "sql_started", {"sql_execution_id": number, "plan_nodes": nodes.get(number, [])}
        result = {"sql_execution_id": number, "ended_ms": query["ended_ms"], "failure_reason": query["failure_reason"]}
        yield query["ended_ms"], "sql_ended", result
    columns = ("stage_id", "name", "scope_names", "parent_stage_ids", "sql_execution_id", "depth", "submitted_ms")
    for stage in application.tables["stages"].to_pylist():
        yield stage["submitted_ms"], "stage_started", {name: stage[name] for name in columns}
    for row in application.stage_rows.to_pylist():
        known = {name: row[name] for name in StageLive.DESCRIPTOR.fields_by_name if row[name] is not None}
        for computed in ("stage_fingerprint", "stage_name", "stage_title", "runs_python"):
            known.pop(computed, None)
        yield row["completed_ms"], "stage", known
    for moment in range(started, ended, WINDOW_MS):
        yield moment, "application", {"status": "running"}
    yield ended, "application_ended", {"ended_ms": ended, "failed_jobs": application.row["failed_jobs"]}


def live_samples(application: Application) -> list[Baseline]:
    """Return what the detect job learns while the application runs."""
    found: list[Baseline] = []
    state = in_memory_run_state()
    windows = [((at // WINDOW_MS + 1) * WINDOW_MS, kind, columns) for at, kind, columns in events(application)]
    for number, (at, kind, columns) in enumerate(sorted(windows, key=lambda each: (each[0], ORDER.index(each[1]))), 1):
        member: dict[str, Any] = {kind: {name: value for name, value in columns.items() if value is not None}}
        row = LiveRow(
            app_id=application.app_id, app_attempt=application.attempt_number, app_start_ms=application.started_ms,
            window_end_ms=at, row_seq=number, completeness=1.0, **member,
        )  # fmt: skip
        found += [each for each in step(row, state) if isinstance(each, Baseline)]
    return found


@pytest.mark.parametrize(
    "name",
    [
        "queries/reports-connect.zstd",
        "queries/reports-spark33.zstd",
        "real/streaming-4",
        "real/failures-35",
        "server.zstd",
    ],
)
def test_live_and_offline_learn_the_same_queries(name: str):
    """The same stages of the same queries are learned; failed queries are not, and do not stop the others."""
    application = read_application(find_logs(str(LOGS / name)).logs[0])
    live = {
        (each.stage_fingerprint, one.run_key, one.learned_ms, one.wall_ms, one.work_bytes)
        for each in live_samples(application)
        for one in each.samples
    }
    offline = {
        (each.fingerprint, each.sample.run_key, each.sample.learned_ms, each.sample.wall_ms, each.sample.work_bytes)
        for each in training_samples(application)
        if each.stage_id >= 0
    }

    assert offline
    assert live == offline
