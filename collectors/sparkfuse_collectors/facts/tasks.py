"""Task starts and ends. Keys are those of Spark's org.apache.spark.util.JsonProtocol, 3.0 to 4.x."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sparkfuse_collectors.facts.record import BULK, RESERVED, News
from sparkfuse_contracts.generated.fact_pb2 import TaskEnded, TaskStarted
from sparkfuse_rules.knowledge.scrubbing import scrub

Event = Mapping[str, Any]
_NOTHING: Event = {}
_OUTCOMES = {"Success": "success", "TaskKilled": "killed"}
# Each cluster manager words it in its own way; the same as ExitCodes of the plugin.
_EXIT_CODE = re.compile(
    r"(?i)\bexit(?:ed)?(?: +with)?(?: +exit)?[ _]?(?:code|status|value)(?: +is)? *[:=(]? *(-?[0-9]{1,9})\b", re.ASCII
)
MOST_CLASS_CHARS = 512
_MERGED_BYTES = ("Merged Remote Bytes Read", "Merged Local Bytes Read")


def task_started(event: Event) -> News:
    """The fact of a SparkListenerTaskStart."""
    task = event["Task Info"]
    launched_ms, task_id = task["Launch Time"], task["Task ID"]
    message = TaskStarted(
        stage_id=event["Stage ID"],
        stage_attempt=event.get("Stage Attempt ID", 0),
        task_id=task_id,
        task_index=_index(task),
        task_attempt=task.get("Attempt", 0),
        executor_id=task.get("Executor ID"),
        host=task.get("Host"),
        speculative=task.get("Speculative", False),
        launched_ms=launched_ms,
        locality=task.get("Locality"),
    )
    return News(BULK, launched_ms, "task_started", str(task_id), message)


def task_ended(event: Event) -> News:
    """The fact of a SparkListenerTaskEnd."""
    task, reason = event["Task Info"], event.get("Task End Reason") or _NOTHING
    launched_ms, finished_ms, task_id = task["Launch Time"], task["Finish Time"], task["Task ID"]
    outcome = _OUTCOMES.get(reason.get("Reason", ""), "failed")
    metrics = event.get("Task Metrics")
    getting_ms = task.get("Getting Result Time") or 0
    message = TaskEnded(
        stage_id=event["Stage ID"],
        stage_attempt=event.get("Stage Attempt ID", 0),
        task_id=task_id,
        task_index=_index(task),
        task_attempt=task.get("Attempt", 0),
        executor_id=task.get("Executor ID"),
        host=task.get("Host"),
        speculative=task.get("Speculative", False),
        launched_ms=launched_ms,
        locality=task.get("Locality"),
        finished_ms=finished_ms,
        duration_ms=max(0, finished_ms - launched_ms),
        outcome=outcome,
        has_metrics=metrics is not None,
        getting_result_ms=max(0, finished_ms - getting_ms) if getting_ms else None,
        **(_metrics(metrics) if metrics else _NOTHING),
    )
    if outcome != "success":
        _tell_failure(message, reason)
    own = f"{task_id}|{outcome}|{message.failure_class}|{finished_ms}"
    return News(RESERVED, finished_ms, "task_ended", own, message)


def _index(task: Event) -> int:
    """Spark's index counts the tasks of an attempt; a partition keeps its number in all attempts."""
    partition: int = task.get("Partition ID", -1)
    return partition if partition >= 0 else task["Index"]


def _metrics(of: Event) -> dict[str, Any]:
    read = of.get("Shuffle Read Metrics") or _NOTHING
    write = of.get("Shuffle Write Metrics") or _NOTHING
    took, gave = of.get("Input Metrics") or _NOTHING, of.get("Output Metrics") or _NOTHING
    remote, local = read.get("Remote Bytes Read", 0), read.get("Local Bytes Read", 0)
    found = {
        "run_ms": of.get("Executor Run Time"),
        "cpu_ns": of.get("Executor CPU Time"),
        "gc_ms": of.get("JVM GC Time"),
        "deserialize_ms": of.get("Executor Deserialize Time"),
        "deserialize_cpu_ns": of.get("Executor Deserialize CPU Time"),
        "result_bytes": of.get("Result Size"),
        "result_serialization_ms": of.get("Result Serialization Time"),
        "peak_execution_memory_bytes": of.get("Peak Execution Memory"),
        "peak_on_heap_execution_memory_bytes": of.get("Peak On Heap Execution Memory"),
        "peak_off_heap_execution_memory_bytes": of.get("Peak Off Heap Execution Memory"),
        "memory_spilled_bytes": of.get("Memory Bytes Spilled"),
        "disk_spilled_bytes": of.get("Disk Bytes Spilled"),
        "input_bytes": took.get("Bytes Read", 0),
        "input_records": took.get("Records Read", 0),
        "output_bytes": gave.get("Bytes Written", 0),
        "output_records": gave.get("Records Written", 0),
        "shuffle_read_bytes": remote + local,
        "shuffle_read_records": read.get("Total Records Read", 0),
        "fetch_wait_ms": read.get("Fetch Wait Time", 0),
        "remote_shuffle_read_bytes": remote,
        "remote_shuffle_to_disk_bytes": read.get("Remote Bytes Read To Disk", 0),
        "local_shuffle_read_bytes": local,
        "remote_shuffle_blocks": read.get("Remote Blocks Fetched", 0),
        "local_shuffle_blocks": read.get("Local Blocks Fetched", 0),
        "remote_requests_ms": read.get("Remote Requests Duration"),
        "shuffle_write_bytes": write.get("Shuffle Bytes Written", 0),
        "shuffle_write_records": write.get("Shuffle Records Written", 0),
        "shuffle_write_ns": write.get("Shuffle Write Time", 0),
    }
    merged = read.get("Push Based Shuffle")
    if merged:
        found["merged_shuffle_read_bytes"] = sum(merged.get(name, 0) for name in _MERGED_BYTES)
        found["corrupt_merged_chunks"] = merged.get("Corrupt Merged Block Chunks", 0)
        found["merged_fallbacks"] = merged.get("Merged Fetch Fallback Count", 0)
    return found


def _tell_failure(message: TaskEnded, reason: Event) -> None:
    """Class, text and places of what ended the task, as TaskOutcome of the plugin tells them."""
    name = reason.get("Reason", "UnknownReason")
    message.failure_class = (reason.get("Class Name") or "" if name == "ExceptionFailure" else name)[:MOST_CLASS_CHARS]
    said = reason.get(_TEXTS[name]) if name in _TEXTS else _sentence(name, reason)
    if said is not None:
        message.failure_reason = scrub(said)
    if name == "FetchFailed":
        address = reason.get("Block Manager Address") or _NOTHING
        _put(message, "fetch_failed_host", address.get("Host"))
        _put(message, "fetch_failed_executor_id", address.get("Executor ID"))
        _put(message, "fetch_failed_shuffle_id", reason.get("Shuffle ID"))
    elif name == "ExecutorLostFailure":
        _put(message, "exit_caused_by_app", reason.get("Exit Caused By App"))
        _put(message, "exit_code", exit_code(said or ""))


def _put(message: TaskEnded, name: str, value: Any) -> None:
    if value is not None:
        setattr(message, name, value)


def exit_code(text: str) -> int | None:
    """The exit code that Spark's reason of a lost executor names, None when it names none."""
    found = _EXIT_CODE.search(text[:4096])
    return int(found[1]) if found else None


# Where Spark's log has the text of a reason.
_TEXTS = {
    "ExceptionFailure": "Description",
    "TaskKilled": "Kill Reason",
    "FetchFailed": "Message",
    "ExecutorLostFailure": "Loss Reason",
}


def _sentence(name: str, reason: Event) -> str:
    """Spark's ``toErrorString`` of the reasons that have no text in its log."""
    if name == "Resubmitted":
        return "Resubmitted (resubmitted due to lost executor)"
    if name == "TaskResultLost":
        return "TaskResultLost (result lost from block manager)"
    if name == "TaskCommitDenied":
        return (
            f"TaskCommitDenied (Driver denied task commit) for job: {reason.get('Job ID')}, "
            f"partition: {reason.get('Partition ID')}, attemptNumber: {reason.get('Attempt Number')}"
        )
    return str(name)
