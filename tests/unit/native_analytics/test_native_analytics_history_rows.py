"""Tests the rows that a backfill writes about queries and their outcome, and the stage names in baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.offline.application import Application, read_application
from sparkfuse_native_analytics.offline.history_rows import baseline_messages, history_rows
from sparkfuse_native_analytics.offline.queries import outcome_of, queries

LOGS = Path(__file__).parents[2] / "logs"


def read(path: str) -> Application:
    (log,) = find_logs(str(LOGS / path)).logs
    return read_application(log)


@pytest.mark.parametrize("path", ["queries/spark35.zstd", "queries/reports-spark33.zstd"])
def test_each_query_of_a_log_is_a_row_of_history(path: str) -> None:
    """Each query of a log has a history row with the values of the analysis, and with sums over the query's stages."""
    application = read(path)
    rows = [row.query for row in history_rows(application, "test", "team") if row.WhichOneof("row") == "query"]
    expected = queries(application)

    assert [(row.query_id, row.query_name, row.status, row.sink) for row in rows] == [
        (query["query_id"], query["name"], query["status"], query["sink"] or "") for query in expected
    ]
    assert [row.stage_ids for row in rows] == [",".join(map(str, query["stage_ids"])) for query in expected]
    assert [row.finished_tasks for row in rows] == [query["tasks"] for query in expected]
    assert sum(row.finished_cpu_ms for row in rows) > 0


def test_failed_query_of_spark_3_3_has_failed() -> None:
    """If the job of a query failed, the query failed too.

    In Spark 3.3 the end of a query has no error message.
    """
    found = queries(read("queries/reports-spark33.zstd"))
    failed = [query for query in found if query["status"] != "succeeded"]
    python, condition = failed  # Python functions of Spark 3.3 fail in Python 3.11

    assert [query["status"] for query in failed] == ["failed", "failed"]
    assert "Python on customer" in python["name"]
    assert condition == found[-1]
    assert "o_totalprice" in (condition["failure_reason"] or "")


FAILED_JOB = {"job_id": 2, "result": "JobFailed", "completed_ms": 20, "failure_reason": "no disk"}
JOBS = (
    {"job_id": 1, "result": "JobFailed", "completed_ms": 30, "failure_reason": "later"},
    FAILED_JOB,
    {"job_id": 3, "result": "JobSucceeded", "completed_ms": 10, "failure_reason": None},
)


@pytest.mark.parametrize(
    ("execution", "jobs", "expected"),
    [
        ({"ended_ms": 5, "failure_reason": "bad row"}, JOBS, ("failed", "bad row")),
        ({"ended_ms": 5, "reported_status": None}, JOBS, ("failed", "no disk")),
        ({"ended_ms": 5, "reported_status": None}, JOBS[2:], ("succeeded", None)),
        ({"ended_ms": 5, "reported_status": "succeeded"}, JOBS, ("succeeded", None)),
        ({"ended_ms": None}, JOBS, ("running", None)),
        ({}, (), ("running", None)),
    ],
    ids=["own reason", "failed job", "no failed job", "reported success", "no end", "no start"],
)
def test_outcome_of_a_query(execution: Any, jobs: Any, expected: tuple[str, str | None]) -> None:
    """A query has the outcome that Spark reported.

    If Spark reported no outcome, the query failed if one of its jobs failed.
    """
    assert outcome_of(execution, jobs) == expected


def test_baselines_of_logs_have_display_names() -> None:
    """A baseline names its stage as the analysis does, but without the number of the query, as live baselines do."""
    application = read("runs/healthy-1.zstd")
    names = {each.stage_name for each in baseline_messages(application, "test", "team")}
    shown = {name.name.partition(": ")[2] or name.name for name in application.names.stages.values()}

    assert "application" in names
    assert len(names) > 1
    assert names - {"application"} <= shown
