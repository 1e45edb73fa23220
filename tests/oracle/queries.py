"""Creates the rows of SQL executions, plan nodes, accumulators, executor metrics and streaming progress."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

from sparkfuse_rules.knowledge.plan_operators import condition, has_condition
from tests.oracle.values import INT64, Event, Row, at, text, whole_number

Number = Callable[..., int | None]
SQL = "org.apache.spark.sql.execution.ui.SparkListener"
PROGRESS = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
OUTPUT_ROWS = "number of output rows"
PEAKS = {
    "jvm_heap_bytes": "JVMHeapMemory",
    "jvm_off_heap_bytes": "JVMOffHeapMemory",
    "on_heap_execution_bytes": "OnHeapExecutionMemory",
    "off_heap_execution_bytes": "OffHeapExecutionMemory",
    "on_heap_storage_bytes": "OnHeapStorageMemory",
    "off_heap_storage_bytes": "OffHeapStorageMemory",
    "jvm_rss_bytes": "ProcessTreeJVMRSSMemory",
    "python_rss_bytes": "ProcessTreePythonRSSMemory",
    "total_gc_ms": "TotalGCTime",
}


class Queries:
    """Collects the events of these rows; ``number`` reads the number at a path and counts any other value as odd."""

    def __init__(self, number: Number) -> None:
        self._number = number
        self._executions: dict[int, Row] = {}
        self.plan_nodes: list[Row] = []
        self.accumulators: list[Row] = []
        self.executor_metrics: list[Row] = []
        self.streaming_progress: list[Row] = []
        self._readers: dict[str, Callable[[Event], None]] = {
            f"{SQL}SQLExecutionStart": self._started,
            f"{SQL}SQLExecutionEnd": self._ended,
            f"{SQL}SQLAdaptiveExecutionUpdate": self._replanned,
            f"{SQL}DriverAccumUpdates": self._driver_updates,
            "SparkListenerStageCompleted": self._stage_completed,
            "SparkListenerStageExecutorMetrics": self._stage_peaks,
            "SparkListenerExecutorMetricsUpdate": self._heartbeat,
            PROGRESS: self._progress,
        }

    def read(self, event: Event) -> None:
        """Read an event of any kind."""
        reader = self._readers.get(event["Event"])
        if reader is not None:
            reader(event)

    @property
    def sql_executions(self) -> list[Row]:
        """Return one row for each SQL execution, ordered by id."""
        return [self._executions[number] for number in sorted(self._executions)]

    def _execution(self, event: Event) -> Row | None:
        number = self._number(event, "executionId")
        if number is None:
            return None
        names = ("root_execution_id", "description", "started_ms", "ended_ms", "reported_status", "failure_reason")
        empty: Row = {"sql_execution_id": number, **dict.fromkeys(names), "plan_versions": 0}
        return self._executions.setdefault(number, empty)

    def _started(self, event: Event) -> None:
        row = self._execution(event)
        if row is not None:
            row["root_execution_id"] = self._number(event, "rootExecutionId")
            row["description"] = text(event, "description")
            row["started_ms"] = self._number(event, "time")
            self._plan(row, event)

    def _ended(self, event: Event) -> None:
        row = self._execution(event)
        if row is not None:
            row["ended_ms"] = self._number(event, "time")
            message = text(event, "errorMessage")  # an empty string if it succeeded; absent before Spark 3.4
            row["failure_reason"] = message or None
            row["reported_status"] = None if message is None else "failed" if message else "succeeded"

    def _replanned(self, event: Event) -> None:
        row = self._execution(event)
        if row is not None:
            self._plan(row, event)

    def _plan(self, row: Row, event: Event) -> None:
        nodes = list(self._nodes(event.get("sparkPlanInfo")))
        place: dict[int, int] = {id(node): index for index, (node, _) in enumerate(nodes)}
        for index, (node, parent) in enumerate(nodes):
            metrics = [metric for metric in node.get("metrics") or [] if isinstance(metric, dict)]
            self.plan_nodes.append({
                "sql_execution_id": row["sql_execution_id"],
                "plan_version": row["plan_versions"],
                "node": index,
                "parent": None if parent is None else place[id(parent)],
                "name": text(node, "nodeName"),
                "condition": self._condition(node),
                "metric_ids": [self._number(metric, "accumulatorId") for metric in metrics],
                "metric_names": [text(metric, "name") for metric in metrics],
                "metric_types": [text(metric, "metricType") for metric in metrics],
            })  # fmt: skip
        row["plan_versions"] += 1

    @staticmethod
    def _condition(node: Event) -> str | None:
        name, line = text(node, "nodeName") or "", text(node, "simpleString")
        return condition(line) if line is not None and has_condition(name) else None

    def _nodes(self, node: Any, parent: Event | None = None) -> Iterator[tuple[Event, Event | None]]:
        """Yield the nodes of a plan in pre-order, each with its parent."""
        if isinstance(node, dict):
            yield node, parent
            for child in node.get("children") or []:
                yield from self._nodes(child, node)

    def _stage_completed(self, event: Event) -> None:
        stage = event.get("Stage Info")
        # The reader of stages has already counted odd values of these two fields.
        number, attempt = (whole_number(at(stage, key)) for key in ("Stage ID", "Stage Attempt ID"))
        for each in at(stage, "Accumulables") or []:
            self.accumulators.append({
                "stage_id": number,
                "stage_attempt": attempt or 0,
                "sql_execution_id": None,
                "accumulator_id": self._number(each, "ID"),
                "name": text(each, "Name"),
                "value": integer(at(each, "Value")),
            })  # fmt: skip

    def _driver_updates(self, event: Event) -> None:
        for identity, value in event.get("accumUpdates") or []:
            self.accumulators.append({
                "stage_id": None,
                "stage_attempt": None,
                "sql_execution_id": self._number(event, "executionId"),
                "accumulator_id": integer(identity),
                "name": None,
                "value": integer(value),
            })  # fmt: skip

    def _stage_peaks(self, event: Event) -> None:
        self._peaks(text(event, "Executor ID"), event)

    def _heartbeat(self, event: Event) -> None:
        for each in event.get("Executor Metrics Updated") or []:
            self._peaks(text(event, "Executor ID"), each)

    def _peaks(self, executor: str | None, holder: Event) -> None:
        self.executor_metrics.append({
            "executor_id": executor,
            "stage_id": self._number(holder, "Stage ID"),
            "stage_attempt": self._number(holder, "Stage Attempt ID"),
            **{name: self._number(holder, "Executor Metrics", key) for name, key in PEAKS.items()},
        })  # fmt: skip

    def _progress(self, event: Event) -> None:
        progress = event.get("progress")
        batch = self._number(progress, "batchDuration")
        states = at(progress, "stateOperators") or []
        self.streaming_progress.append({
            "query_id": text(progress, "id"),
            "run_id": text(progress, "runId"),
            "name": text(progress, "name"),
            "batch_id": self._number(progress, "batchId"),
            "timestamp_ms": moment(text(progress, "timestamp")),
            "batch_duration_ms": self._number(progress, "durationMs", "triggerExecution") if batch is None else batch,
            "input_rows": self._sum(at(progress, "sources") or [], "numInputRows"),
            "input_rows_per_second": at(progress, "inputRowsPerSecond"),
            "processed_rows_per_second": at(progress, "processedRowsPerSecond"),
            "state_rows": self._sum(states, "numRowsTotal"),
            "state_memory_bytes": self._sum(states, "memoryUsedBytes"),
            "watermark_ms": moment(text(progress, "eventTime", "watermark")),
        })  # fmt: skip

    def _sum(self, holders: list[Event], key: str) -> int | None:
        values = [value for value in (self._number(holder, key) for holder in holders) if value is not None]
        return sum(values) if values else None


def integer(value: Any) -> int | None:
    """Return an integer that is given as a number or as a string.

    An accumulator may have a value of any other type; such a value is not counted as odd.
    """
    if isinstance(value, str) and value.lstrip("-").isdecimal():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value in INT64 else None


def moment(when: str | None) -> int | None:
    """Convert an ISO time in UTC to ms since the epoch."""
    if when is None:
        return None
    return round(dt.datetime.fromisoformat(when).timestamp() * 1000)


def output_rows(stage: Event) -> int | None:
    """Return the largest number of output rows of one operator of a completed stage, by its SQL metrics."""
    rows = (integer(at(each, "Value")) for each in at(stage, "Accumulables") or [] if text(each, "Name") == OUTPUT_ROWS)
    return max((value for value in rows if value is not None), default=None)
