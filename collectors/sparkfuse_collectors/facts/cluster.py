"""Executors, stores of blocks, resource profiles, exclusions: what an application runs on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkfuse_collectors.facts.record import RESERVED, News
from sparkfuse_collectors.facts.tasks import exit_code
from sparkfuse_contracts.generated import fact_pb2
from sparkfuse_rules.knowledge.scrubbing import scrub

Event = Mapping[str, Any]
_MEBIBYTE = 1 << 20
MOST_RESOURCES = 32
MOST_NAME_CHARS = 128
_MEMORY = {
    "memory": "executor_memory_bytes",
    "memoryOverhead": "memory_overhead_bytes",
    "pyspark.memory": "pyspark_memory_bytes",
    "offHeap": "off_heap_memory_bytes",
}


def executor_added(event: Event) -> News:
    """The fact of a SparkListenerExecutorAdded."""
    info, added_ms = event["Executor Info"], event["Timestamp"]
    message = fact_pb2.ExecutorAdded(
        executor_id=event["Executor ID"],
        host=info.get("Host"),
        cores=info.get("Total Cores"),
        added_ms=added_ms,
        resource_profile_id=info.get("Resource Profile Id"),
    )
    return News(RESERVED, added_ms, "executor_added", f"{message.executor_id}|{added_ms}", message)


def executor_removed(event: Event) -> News:
    """The fact of a SparkListenerExecutorRemoved."""
    removed_ms, reason = event["Timestamp"], str(event.get("Removed Reason"))
    message = fact_pb2.ExecutorRemoved(
        executor_id=event["Executor ID"], removed_ms=removed_ms, reason=scrub(reason), exit_code=exit_code(reason)
    )
    return News(RESERVED, removed_ms, "executor_removed", f"{message.executor_id}|{removed_ms}", message)


def block_manager_added(event: Event) -> News:
    """The fact of a SparkListenerBlockManagerAdded."""
    place, added_ms = event["Block Manager ID"], event["Timestamp"]
    message = fact_pb2.BlockManagerAdded(
        executor_id=place["Executor ID"],
        host=place.get("Host"),
        max_memory_bytes=event.get("Maximum Memory"),
        max_on_heap_memory_bytes=event.get("Maximum Onheap Memory"),
        max_off_heap_memory_bytes=event.get("Maximum Offheap Memory"),
        added_ms=added_ms,
    )
    return News(RESERVED, added_ms, "block_manager_added", f"{message.executor_id}|{added_ms}", message)


def block_manager_removed(event: Event) -> News:
    """The fact of a SparkListenerBlockManagerRemoved."""
    place, removed_ms = event["Block Manager ID"], event["Timestamp"]
    message = fact_pb2.BlockManagerRemoved(
        executor_id=place["Executor ID"], host=place.get("Host"), removed_ms=removed_ms
    )
    return News(RESERVED, removed_ms, "block_manager_removed", f"{message.executor_id}|{removed_ms}", message)


def resource_profile_added(event: Event, at_ms: int) -> News:
    """The fact of a SparkListenerResourceProfileAdded, which has no time of its own."""
    profile = event["Resource Profile Id"]
    message = fact_pb2.ResourceProfileAdded(profile_id=profile)
    for name, request in (event.get("Executor Resource Requests") or {}).items():
        amount = request["Amount"]
        if name == "cores":
            message.executor_cores = amount
        elif name in _MEMORY:
            setattr(message, _MEMORY[name], amount * _MEBIBYTE)
        elif len(message.resources) < MOST_RESOURCES and len(name) <= MOST_NAME_CHARS:
            message.resources[name] = str(amount)
    cpus = (event.get("Task Resource Requests") or {}).get("cpus")
    if cpus:
        message.task_cpus = cpus["Amount"]
    return News(RESERVED, at_ms, "resource_profile_added", str(profile), message)


def node_event(name: str, event: Event) -> News:
    """The fact of an exclusion (``name`` is the event's, such as ExecutorExcludedForStage) or of its end."""
    happened_ms = event["time"]
    kind = "taken back" if "Un" in name else "excluded"
    message = fact_pb2.NodeEvent(
        event=kind,
        host=event.get("hostId"),
        executor_id=event.get("executorId"),
        stage_id=event.get("stageId"),
        task_failures=event.get("taskFailures"),
        happened_ms=happened_ms,
    )
    stage = message.stage_id if message.HasField("stage_id") else ""
    own = f"{kind}|{message.host}|{message.executor_id}|{stage}|{happened_ms}"
    return News(RESERVED, happened_ms, "node_event", own, message)
