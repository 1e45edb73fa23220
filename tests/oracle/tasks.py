"""Creates the rows of task starts and task ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle.values import Event, Row, at, flag, text

Number = Callable[..., int | None]
"""Reads the number at a path of keys, and counts values that are not numbers."""

INFO = {
    "task_id": "Task ID",
    "task_index": "Index",
    "task_attempt": "Attempt",
    "partition_id": "Partition ID",
    "launched_ms": "Launch Time",
    "finished_ms": "Finish Time",
    "getting_result_ms": "Getting Result Time",
}
PLACE = {"executor_id": "Executor ID", "host": "Host", "locality": "Locality"}
METRICS = {
    "run_ms": ("Executor Run Time",),
    "cpu_ns": ("Executor CPU Time",),
    "gc_ms": ("JVM GC Time",),
    "deserialize_ms": ("Executor Deserialize Time",),
    "deserialize_cpu_ns": ("Executor Deserialize CPU Time",),
    "result_serialization_ms": ("Result Serialization Time",),
    "result_bytes": ("Result Size",),
    "peak_execution_memory_bytes": ("Peak Execution Memory",),
    "memory_spilled_bytes": ("Memory Bytes Spilled",),
    "disk_spilled_bytes": ("Disk Bytes Spilled",),
    "shuffle_remote_blocks": ("Shuffle Read Metrics", "Remote Blocks Fetched"),
    "shuffle_local_blocks": ("Shuffle Read Metrics", "Local Blocks Fetched"),
    "shuffle_remote_bytes": ("Shuffle Read Metrics", "Remote Bytes Read"),
    "shuffle_local_bytes": ("Shuffle Read Metrics", "Local Bytes Read"),
    "shuffle_remote_to_disk_bytes": ("Shuffle Read Metrics", "Remote Bytes Read To Disk"),
    "shuffle_read_records": ("Shuffle Read Metrics", "Total Records Read"),
    "fetch_wait_ms": ("Shuffle Read Metrics", "Fetch Wait Time"),
    "shuffle_write_bytes": ("Shuffle Write Metrics", "Shuffle Bytes Written"),
    "shuffle_write_records": ("Shuffle Write Metrics", "Shuffle Records Written"),
    "shuffle_write_ns": ("Shuffle Write Metrics", "Shuffle Write Time"),
    "input_bytes": ("Input Metrics", "Bytes Read"),
    "input_records": ("Input Metrics", "Records Read"),
    "output_bytes": ("Output Metrics", "Bytes Written"),
    "output_records": ("Output Metrics", "Records Written"),
}
"""Paths of a task end's metrics below ``Task Metrics``."""
OUTCOMES = {"Success": "success", "TaskKilled": "killed"}
FAILURE_REASONS = ("Description", "Kill Reason", "Loss Reason", "Message")
STARTED = ("stage_id", "stage_attempt", "task_id", "task_index", "task_attempt", "executor_id", "host", "locality",
           "speculative", "launched_ms")  # fmt: skip
"""Columns of a task start; the other values of its ``Task Info`` are not final."""


def task_info(event: Event, number: Number) -> Row:
    """Return the values that both task starts and task ends have."""
    return {
        "stage_id": number(event, "Stage ID"),
        "stage_attempt": number(event, "Stage Attempt ID") or 0,
        **{name: number(event, "Task Info", key) for name, key in INFO.items()},
        **{name: text(event, "Task Info", key) for name, key in PLACE.items()},
        "speculative": flag(at(event, "Task Info", "Speculative")),
    }


def slowest_task(succeeded: list[tuple[int, bool, int, Row]]) -> Row:
    """Return the columns about the longest task attempt of a stage; among equally long ones, the lowest index wins."""
    names = ("task_index", "task_ms", "task_bytes", "task_gc_ms", "task_executor_id", "task_host")
    if not succeeded:
        return {f"slowest_{name}": None for name in names}
    less_wall, _, _, row = min(succeeded, key=lambda each: each[:3])
    known = row["has_metrics"]
    read = (row["shuffle_read_bytes"] or 0) + (row["input_bytes"] or 0)
    values = (row["task_index"], -less_wall, read if known else None, (row["gc_ms"] or 0) if known else None,
              row["executor_id"], row["host"])  # fmt: skip
    return {f"slowest_{name}": value for name, value in zip(names, values, strict=True)}


def task_start(event: Event, number: Number) -> Row:
    """Return the row of a task start."""
    row = task_info(event, number)
    return {name: row[name] for name in STARTED}


def task_end(event: Event, number: Number) -> Row:
    """Return the row of a task end; without task metrics, every metric is absent."""
    reason = text(event, "Task End Reason", "Reason")
    outcome = OUTCOMES.get(reason or "", "failed")
    metrics = at(event, "Task Metrics")
    row = {
        **task_info(event, number),
        "task_type": text(event, "Task Type"),
        "reason": reason,
        "outcome": outcome,
        "failure_class": None,
        "failure_reason": None,
        "has_metrics": isinstance(metrics, dict),
        **{name: number(metrics, *path) for name, path in METRICS.items()},
    }
    if outcome != "success":
        row["failure_class"] = text(event, "Task End Reason", "Class Name") or reason
        reasons = (text(event, "Task End Reason", key) for key in FAILURE_REASONS)
        row["failure_reason"] = next((each for each in reasons if each is not None), None)
    shuffled = (row["shuffle_remote_bytes"], row["shuffle_local_bytes"])
    row["shuffle_read_bytes"] = None if shuffled == (None, None) else sum(value or 0 for value in shuffled)
    if row["has_metrics"] and row["peak_execution_memory_bytes"] is None:
        row["peak_execution_memory_bytes"] = peak_of_old_spark(event, number)
    return row


def peak_of_old_spark(event: Event, number: Number) -> int | None:
    """Return the peak memory, which Spark before 2.0 wrote only as an accumulable of the task."""
    accumulables: Any = at(event, "Task Info", "Accumulables")
    for each in accumulables if isinstance(accumulables, list) else []:
        if text(each, "Name") in {"peakExecutionMemory", "internal.metrics.peakExecutionMemory"}:
            return number(each, "Update")
    return None
