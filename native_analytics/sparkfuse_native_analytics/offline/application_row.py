"""Computes the row of the view app_live for one application from its event log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from sparkfuse_contracts.generated.view_rows import AppLiveRow
from sparkfuse_native_analytics.event_logs.table_rows import ApplicationRow, LogEvidence
from sparkfuse_native_analytics.offline.stage_rows import clamp_int64
from sparkfuse_rules.knowledge.application_end import end_status
from sparkfuse_rules.knowledge.work import operator_rows

if TYPE_CHECKING:
    import pyarrow as pa

VIEW = "app_live"
SUCCEEDED = "JobSucceeded"
_READ_BYTES = ("input_bytes", "shuffle_read_bytes")
_READ_RECORDS = ("input_records", "shuffle_read_records")


def application_row(
    application: ApplicationRow,
    tables: Mapping[str, pa.Table],
    until_ms: int | None,
    evidence: LogEvidence,
    now_ms: int,
) -> AppLiveRow:
    """Return the columns of app_live that have a value, without the columns that baselines fill.

    ``application`` is a row of the kernel's table applications; ``tables`` contains the jobs, stages and executors as
    Arrow tables. ``until_ms`` is the last time in the log, ``now_ms`` the time at which the log was read; ``evidence``
    describes what was read. The formulas are those of Application.java in flink-functions.
    """
    stages = tables["stages"]
    results = tables["jobs"]["result"].to_pylist()
    statuses = stages["status"].to_pylist()
    failed_jobs = sum(result is not None and result != SUCCEEDED for result in results)
    started_ms, ended_ms = application["started_ms"], application["ended_ms"]
    end = until_ms if ended_ms is None else ended_ms
    silent_ms = None if until_ms is None or ended_ms is not None else clamp_int64(max(0, now_ms - until_ms))
    running_jobs = sum(result is None for result in results)
    again = _sum(stages, "resubmitted")  # the number of task attempts whose end Spark reported a second time
    row: AppLiveRow = {
        "name": application["name"],
        "status": end_status(
            ended=ended_ms is not None,
            failed_jobs=failed_jobs,
            running_jobs=running_jobs,
            complete=not (evidence["malformed"] or evidence["left_out"]),
            silent_ms=silent_ms,
        ),
        "ended_ms": ended_ms,
        "elapsed_ms": None if started_ms is None or end is None else clamp_int64(max(0, end - started_ms)),
        "between_jobs_ms": None if end is None else clamp_int64(between_jobs_ms(tables["jobs"], end)),
        "running_jobs": running_jobs,
        "succeeded_jobs": sum(result == SUCCEEDED for result in results),
        "failed_jobs": failed_jobs,
        "running_stages": sum(status == "running" for status in statuses),
        "ended_stages": sum(status != "running" for status in statuses),
        "running_tasks": evidence["unfinished_tasks"],
        "finished_tasks": _sum(stages, "tasks") - again,
        "failed_tasks": _sum(stages, "failed") - again,
        "executors": tables["executors"]["removed_ms"].null_count,
        "disk_spilled_bytes": _sum(stages, "disk_spilled_bytes"),
        "user_name": application["user_name"],
        "spark_version": application["spark_version"],
        "finished_cpu_ms": _sum(stages, "cpu_ns") // 1_000_000,
        "work_bytes": _sum(stages, *_READ_BYTES),
        "work_records": _sum(stages, *_READ_RECORDS),
        "operator_rows": _operator_rows(stages),
        "facts_seen": evidence["events"],
        "facts_expected": evidence["events"] + evidence["malformed"] + evidence["left_out"],
        "unfinished_tasks": evidence["unfinished_tasks"],
        "log_silent_ms": silent_ms,
    }
    return cast(AppLiveRow, {name: value for name, value in row.items() if value is not None})


def between_jobs_ms(jobs: pa.Table, end: int) -> int:
    """Return the time in ms, between the end of the first job and ``end``, in which no job ran."""
    times = zip(jobs["submitted_ms"].to_pylist(), jobs["completed_ms"].to_pylist(), strict=True)
    known = sorted((begin, end if done is None else done) for begin, done in times if begin is not None)
    between, ended = 0, None
    for begin, done in [*known, (end, end)]:
        between += 0 if ended is None else max(0, begin - ended)
        ended = done if ended is None else max(ended, done)
    return between


def _operator_rows(stages: pa.Table) -> int | None:
    """Return the sum of the operator rows of the ended stages that read neither bytes nor records; None if it is 0."""
    columns = {name: stages[name].to_pylist() for name in (*_READ_BYTES, *_READ_RECORDS, "operator_rows_max")}
    rows = (operator_rows(_work(dict(zip(columns, row, strict=True)))) for row in zip(*columns.values(), strict=True))
    return clamp_int64(sum(each for each in rows if each)) or None


def _work(stage: Mapping[str, int]) -> dict[str, int]:
    """Return the columns of stage_live that measure work, from a row of the kernel's table stages."""
    return {
        "work_bytes": sum(stage[name] for name in _READ_BYTES),
        "work_records": sum(stage[name] for name in _READ_RECORDS),
        "operator_rows_max": stage["operator_rows_max"],
    }


def _sum(stages: pa.Table, *names: str) -> int:
    """Return the sum of some columns."""
    return clamp_int64(sum(value for name in names for value in stages[name].to_pylist() if value is not None))
