"""Converts the cases of contracts/shared/stage_live_cases.json to event logs, for tests of live and offline rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.columns import view_specs

Case = Mapping[str, Any]
CASES: list[Case] = json.loads(asset("sparkfuse_contracts", "shared", "stage_live_cases.json").read_text())["cases"]
START_MS = 1_795_226_400_000
# The names of a task's metrics in an event log, by their names in a case.
_METRICS: Mapping[str, tuple[str, ...]] = {
    "run_ms": ("Executor Run Time",),
    "cpu_ns": ("Executor CPU Time",),
    "gc_ms": ("JVM GC Time",),
    "memory_spilled_bytes": ("Memory Bytes Spilled",),
    "disk_spilled_bytes": ("Disk Bytes Spilled",),
    "input_bytes": ("Input Metrics", "Bytes Read"),
    "input_records": ("Input Metrics", "Records Read"),
    "shuffle_read_bytes": ("Shuffle Read Metrics", "Remote Bytes Read"),
    "shuffle_read_records": ("Shuffle Read Metrics", "Total Records Read"),
    "fetch_wait_ms": ("Shuffle Read Metrics", "Fetch Wait Time"),
    "shuffle_write_bytes": ("Shuffle Write Metrics", "Shuffle Bytes Written"),
    "shuffle_write_records": ("Shuffle Write Metrics", "Shuffle Records Written"),
    "output_bytes": ("Output Metrics", "Bytes Written"),
    "output_records": ("Output Metrics", "Records Written"),
}
# Columns with times; in a case, these times are relative to the start.
_TIMES = ("submitted_ms", "completed_ms")


def app_id(case: Case) -> str:
    """Return the application id of a case."""
    return "stage-" + str(case["name"]).replace(" ", "-")


def expected_columns(case: Case) -> dict[str, Any]:
    """Return the columns of the stage's row that are not NULL."""
    return {name: value + START_MS if name in _TIMES else value for name, value in case["expected"].items()}


def event_log(case: Case) -> Iterator[str]:
    """Return the events of an application with one stage, each as a JSON string."""
    for event in _events(case):
        yield json.dumps(event)


def _events(case: Case) -> Iterator[dict[str, Any]]:
    stage = case["stage"]
    submitted, completed = START_MS + stage["submitted_ms"], START_MS + stage["completed_ms"]
    info = {
        "Stage ID": 3,
        "Stage Attempt ID": 0,
        "Stage Name": "save at orders.py:88",
        "Number of Tasks": stage["num_tasks"],
        "RDD Info": [],
        "Parent IDs": [],
        "Submission Time": submitted,
    }
    yield {"Event": "SparkListenerLogStart", "Spark Version": "3.5.8"}
    yield {
        "Event": "SparkListenerApplicationStart",
        "App Name": "cases",
        "App ID": app_id(case),
        "Timestamp": START_MS,
        "User": "etl",
    }
    yield {"Event": "SparkListenerJobStart", "Job ID": 0, "Submission Time": submitted, "Stage IDs": [3]}
    yield {"Event": "SparkListenerStageSubmitted", "Stage Info": info}
    for task in case["tasks"]:
        yield from _task(task)
    failure = {"Failure Reason": stage["failure_reason"]} if "failure_reason" in stage else {}
    yield {"Event": "SparkListenerStageCompleted", "Stage Info": {**info, "Completion Time": completed, **failure}}
    result = (
        {"Result": "JobFailed", "Exception": {"Message": "the job failed"}} if failure else {"Result": "JobSucceeded"}
    )
    yield {"Event": "SparkListenerJobEnd", "Job ID": 0, "Completion Time": completed, "Job Result": result}
    yield {"Event": "SparkListenerApplicationEnd", "Timestamp": completed + 500}


def _task(task: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    info = {
        "Task ID": task["id"],
        "Index": task["index"],
        "Attempt": task.get("attempt", 0),
        "Launch Time": START_MS + task["launched_ms"],
        "Executor ID": task.get("executor", "1"),
        "Host": "node-" + task.get("executor", "1"),
        "Locality": "ANY",
        "Speculative": task.get("speculative", False),
    }
    where = {"Stage ID": 3, "Stage Attempt ID": 0}
    reason = task.get("reason", {"Reason": "Success"})
    if reason["Reason"] != "Resubmitted":
        yield {"Event": "SparkListenerTaskStart", **where, "Task Info": info}
    yield {
        "Event": "SparkListenerTaskEnd",
        **where,
        "Task Type": "ResultTask",
        "Task End Reason": reason,
        "Task Info": {
            **info,
            "Finish Time": START_MS + task["finished_ms"],
            "Failed": reason["Reason"] not in ("Success", "TaskKilled"),
            "Killed": reason["Reason"] == "TaskKilled",
        },
        **({"Task Metrics": _metrics(task["metrics"])} if "metrics" in task else {}),
    }


def _metrics(values: Mapping[str, int]) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    for name, path in _METRICS.items():
        *groups, last = path
        inner = metrics
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[last] = values.get(name, 0)
    return metrics


# The columns of failure_live that a case lists for each failure class.
FAILURE_COLUMNS = ("failure_class", "failed_tasks", "task_index", "failure_reason", "executor_id", "host")


def compared() -> list[str]:
    """Return the columns of stage_live that the windows job and the offline reader both compute."""
    columns = view_specs()["stage_live"].columns
    return [name for name, column in columns.items() if not {"live only", "detect"} & set(column.tags)]
