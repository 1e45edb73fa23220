"""Reads an event log and gives its values the field names of facts, as a simple reference for tests of the plugin."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.oracle.containers import unpack
from tests.oracle.find import find_logs
from tests.oracle.values import Event, Row, at

READ, WRITE = "Shuffle Read Metrics", "Shuffle Write Metrics"
MERGED = (READ, "Push Based Shuffle")
TASK_METRICS = {
    "run_ms": ("Executor Run Time",),
    "cpu_ns": ("Executor CPU Time",),
    "gc_ms": ("JVM GC Time",),
    "deserialize_ms": ("Executor Deserialize Time",),
    "deserialize_cpu_ns": ("Executor Deserialize CPU Time",),
    "result_bytes": ("Result Size",),
    "result_serialization_ms": ("Result Serialization Time",),
    "peak_execution_memory_bytes": ("Peak Execution Memory",),
    "peak_on_heap_execution_memory_bytes": ("Peak On Heap Execution Memory",),
    "peak_off_heap_execution_memory_bytes": ("Peak Off Heap Execution Memory",),
    "memory_spilled_bytes": ("Memory Bytes Spilled",),
    "disk_spilled_bytes": ("Disk Bytes Spilled",),
    "input_bytes": ("Input Metrics", "Bytes Read"),
    "input_records": ("Input Metrics", "Records Read"),
    "output_bytes": ("Output Metrics", "Bytes Written"),
    "output_records": ("Output Metrics", "Records Written"),
    "shuffle_read_records": (READ, "Total Records Read"),
    "fetch_wait_ms": (READ, "Fetch Wait Time"),
    "remote_shuffle_read_bytes": (READ, "Remote Bytes Read"),
    "remote_shuffle_to_disk_bytes": (READ, "Remote Bytes Read To Disk"),
    "local_shuffle_read_bytes": (READ, "Local Bytes Read"),
    "remote_shuffle_blocks": (READ, "Remote Blocks Fetched"),
    "local_shuffle_blocks": (READ, "Local Blocks Fetched"),
    "remote_requests_ms": (READ, "Remote Requests Duration"),
    "corrupt_merged_chunks": (*MERGED, "Corrupt Merged Block Chunks"),
    "merged_fallbacks": (*MERGED, "Merged Fetch Fallback Count"),
    "shuffle_write_bytes": (WRITE, "Shuffle Bytes Written"),
    "shuffle_write_records": (WRITE, "Shuffle Records Written"),
    "shuffle_write_ns": (WRITE, "Shuffle Write Time"),
}
TASK_INFO = {
    "task_id": "Task ID",
    "task_index": "Partition ID",
    "task_attempt": "Attempt",
    "executor_id": "Executor ID",
    "host": "Host",
    "speculative": "Speculative",
    "launched_ms": "Launch Time",
    "locality": "Locality",
    "finished_ms": "Finish Time",
}
REASON_TEXTS = ("Description", "Kill Reason", "Loss Reason", "Message")


def log_events(folder: Path) -> list[Event]:
    """Return the events of the only log below a folder, in order."""
    [(_, files)] = list(find_logs([folder]))
    return [json.loads(line) for path in files for line in unpack(path.read_bytes()).data.splitlines() if line.strip()]


def of(events: list[Event], kind: str) -> list[Event]:
    """Return the events whose class has this name."""
    return [event for event in events if event["Event"].rpartition(".")[2] == kind]


def task_ends(events: list[Event]) -> Iterator[Row]:
    """Yield a row for each task end, with the field names of TaskEnded; absent values are not in the row."""
    for event in of(events, "SparkListenerTaskEnd"):
        info, reason, metrics = event["Task Info"], event["Task End Reason"], event.get("Task Metrics")
        row: Row = {"stage_id": event["Stage ID"], "stage_attempt": event["Stage Attempt ID"]}
        row |= {name: info[key] for name, key in TASK_INFO.items()}
        row["duration_ms"] = max(0, info["Finish Time"] - info["Launch Time"])
        if info["Getting Result Time"] > 0:
            row["getting_result_ms"] = info["Finish Time"] - info["Getting Result Time"]
        row |= _outcome(reason)
        row["has_metrics"] = metrics is not None
        row |= {name: at(metrics, *path) for name, path in TASK_METRICS.items()}
        if metrics is not None:
            row["shuffle_read_bytes"] = row["remote_shuffle_read_bytes"] + row["local_shuffle_read_bytes"]
            merged = [at(metrics, *MERGED, f"Merged {where} Bytes Read") for where in ("Remote", "Local")]
            row["merged_shuffle_read_bytes"] = None if None in merged else sum(merged)
        yield {name: value for name, value in row.items() if value is not None}


def _outcome(reason: Event) -> Row:
    kind = reason["Reason"]
    row: Row = {"outcome": {"Success": "success", "TaskKilled": "killed"}.get(kind, "failed")}
    if kind == "Success":
        return row
    row["failure_class"] = reason.get("Class Name") or kind
    row["failure_reason"] = next((reason[key] for key in REASON_TEXTS if reason.get(key) is not None), None)
    if kind == "ExecutorLostFailure":
        row["exit_caused_by_app"] = reason["Exit Caused By App"]
    if kind == "FetchFailed":
        row["fetch_failed_shuffle_id"] = reason["Shuffle ID"]
        address = reason.get("Block Manager Address")
        row["fetch_failed_host"] = at(address, "Host")
        row["fetch_failed_executor_id"] = at(address, "Executor ID")
    return row


def plans(events: list[Event]) -> Iterator[Row]:
    """Yield a row for each version of each plan, with the field names of SqlPlan."""
    versions: dict[int, int] = {}
    for event in events:
        if event["Event"].endswith(("SQLExecutionStart", "SQLAdaptiveExecutionUpdate")):
            execution = event["executionId"]
            nodes = list(_nodes(event["sparkPlanInfo"]))
            yield {
                "sql_execution_id": execution,
                "plan_version": versions.get(execution, 0),
                "node_names": [node["nodeName"] for node, _ in nodes],
                "node_parents": [parent for _, parent in nodes],
                "metrics": [
                    (number, metric["accumulatorId"], metric["name"], metric["metricType"])
                    for number, (node, _) in enumerate(nodes)
                    for metric in node["metrics"]
                ],
            }
            versions[execution] = versions.get(execution, 0) + 1


def _nodes(root: Event) -> Iterator[tuple[Event, int]]:
    """Yield nodes in pre-order, each with the number of its parent."""
    count = 0
    waiting = [(root, -1)]
    while waiting:
        node, parent = waiting.pop()
        yield node, parent
        waiting += [(child, count) for child in reversed(node["children"])]
        count += 1


def scope_names(info: Event) -> list[str]:
    """Return the distinct names of a stage's RDD scopes; codegen scopes include their numbers."""
    scopes = [json.loads(rdd["Scope"])["name"] for rdd in info["RDD Info"] if rdd.get("Scope")]
    return list(dict.fromkeys(scopes))


def sql_metrics(events: list[Event]) -> dict[int, dict[int, int]]:
    """Return the last metric values of each ended query, from its stages and from driver updates."""
    known: dict[int, set[int]] = {}
    values: dict[int, dict[int, int]] = {}
    stages: dict[tuple[int, int], int] = {}
    ended: dict[int, dict[int, int]] = {}
    for event in events:
        kind = event["Event"].rpartition(".")[2]
        execution: Any = event.get("executionId")
        if kind in {"SparkListenerSQLExecutionStart", "SparkListenerSQLAdaptiveExecutionUpdate"}:
            ids = {metric["accumulatorId"] for node, _ in _nodes(event["sparkPlanInfo"]) for metric in node["metrics"]}
            known.setdefault(execution, set()).update(ids)
            values.setdefault(execution, {})
        elif kind == "SparkListenerSQLAdaptiveSQLMetricUpdates":
            known[execution].update(metric["accumulatorId"] for metric in event["sqlPlanMetrics"])
        elif kind == "SparkListenerDriverAccumUpdates":
            values[execution].update(dict(event["accumUpdates"]))
        elif kind == "SparkListenerSQLExecutionEnd":
            ended[execution] = dict(values[execution])
        elif kind == "SparkListenerStageSubmitted":
            execution_id = at(event, "Properties", "spark.sql.execution.id")
            if execution_id is not None:
                stages[_stage(event)] = int(execution_id)
        elif kind == "SparkListenerStageCompleted" and _stage(event) in stages:
            execution = stages[_stage(event)]
            for each in event["Stage Info"]["Accumulables"]:
                if each["ID"] in known[execution]:
                    values[execution][each["ID"]] = int(each["Value"])
    return ended


def _stage(event: Event) -> tuple[int, int]:
    return event["Stage Info"]["Stage ID"], event["Stage Info"]["Stage Attempt ID"]


def moment(iso: str) -> int:
    """Convert an ISO time to ms since the epoch."""
    return round(dt.datetime.fromisoformat(iso).timestamp() * 1000)
