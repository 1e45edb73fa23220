"""Builds event logs in Spark's format with the numbers that a test chooses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

START_MS = 1_795_226_400_000
DAY_MS = 86_400_000


@dataclass(frozen=True)
class Task:
    """One task attempt: its duration, its input and its result; a task whose reason is ``None`` did not end."""

    wall_ms: int
    read_bytes: int = 1_000_000
    reason: str | None = "Success"
    cpu_ms: int | None = None
    disk_spilled_bytes: int = 0
    metrics: bool = True
    error: str | None = None
    """The exception's class and text, for the reason ExceptionFailure; else Spark's text of the failure."""
    index: int | None = None
    executor: str = "1"
    read_records: int = 10


@dataclass(frozen=True)
class Stage:
    """One stage attempt; ``status`` is succeeded, failed or running."""

    stage_id: int
    tasks: Sequence[Task]
    after_ms: int = 0
    name: str = "save at orders.py:88"
    status: str = "succeeded"
    attempt: int = 0
    num_tasks: int | None = None
    parents: Sequence[int] = ()
    scopes: Sequence[str] = ("Exchange",)
    output_rows: int | None = None


@dataclass(frozen=True)
class Executor:
    """One executor: when it was added, when and why it was removed; times are in ms after the application's start."""

    executor_id: str
    left_ms: int | None = None
    why: str | None = None
    joined_ms: int | None = 0

    def events(self, start_ms: int) -> Iterator[dict[str, Any]]:
        """Return the listener events of this executor."""
        where = {"Host": f"node-{self.executor_id}", "Total Cores": 4}
        if self.joined_ms is not None:
            yield {"Event": "SparkListenerExecutorAdded", "Timestamp": start_ms + self.joined_ms,
                   "Executor ID": self.executor_id, "Executor Info": where}  # fmt: skip
        if self.left_ms is not None:
            yield {"Event": "SparkListenerExecutorRemoved", "Timestamp": start_ms + self.left_ms,
                   "Executor ID": self.executor_id, "Removed Reason": self.why}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One run of a job, with as many task slots as a stage has tasks."""

    stages: Sequence[Stage]
    app_id: str = "app-1"
    start_ms: int = START_MS
    job: str = "nightly_orders"
    ended: bool = True
    failed: bool = False
    failure: str = "the job failed"
    query: int | None = None
    """The SQL execution to which the job belongs."""
    executors: Sequence[Executor] = ()
    more: Sequence[str] = field(default=())

    def write(self, path: Path) -> Path:
        """Write the event log as one plain file."""
        path.write_text("".join(f"{line}\n" for line in self.lines()))
        return path

    def lines(self) -> Iterator[str]:
        """Return the listener events of the run, one JSON line each."""
        for event in self._events():
            yield json.dumps(event)
        yield from self.more

    def _events(self) -> Iterator[dict[str, Any]]:
        yield {"Event": "SparkListenerLogStart", "Spark Version": "3.5.8"}
        yield {
            "Event": "SparkListenerApplicationStart",
            "App Name": f"{self.job} 2026-11-21",
            "App ID": self.app_id,
            "Timestamp": self.start_ms,
            "User": "etl",
        }
        properties = {"spark.sparkfuse.job": self.job, "spark.secret": "hidden"}
        yield {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": properties}
        for executor in self.executors:
            yield from executor.events(self.start_ms)
        begin, end = self.start_ms + 1_000, self.start_ms + 1_000
        ids = [stage.stage_id for stage in self.stages]
        of_query = {} if self.query is None else {"Properties": {"spark.sql.execution.id": str(self.query)}}
        yield {"Event": "SparkListenerJobStart", "Job ID": 0, "Submission Time": begin, "Stage IDs": ids, **of_query}
        number = 0
        for stage in self.stages:
            yield from self._stage(stage, begin, number)
            number += len(stage.tasks)
            end = max(end, begin + stage.after_ms + max((task.wall_ms for task in stage.tasks), default=0))
        result = {"Result": "JobFailed", "Exception": {"Message": self.failure}}
        yield {
            "Event": "SparkListenerJobEnd",
            "Job ID": 0,
            "Completion Time": end,
            "Job Result": result if self.failed else {"Result": "JobSucceeded"},
        }
        if self.ended:
            yield {"Event": "SparkListenerApplicationEnd", "Timestamp": end + 500}

    def _stage(self, stage: Stage, begin: int, number: int) -> Iterator[dict[str, Any]]:
        submitted = begin + stage.after_ms
        info: dict[str, Any] = {
            "Stage ID": stage.stage_id,
            "Stage Attempt ID": stage.attempt,
            "Stage Name": stage.name,
            "Number of Tasks": len(stage.tasks) if stage.num_tasks is None else stage.num_tasks,
            "RDD Info": [
                {"RDD ID": place, "Name": "x", "Scope": json.dumps({"id": str(place), "name": scope})}
                for place, scope in enumerate(stage.scopes, start=1)
            ],
            "Parent IDs": list(stage.parents),
            "Submission Time": submitted,
        }
        yield {"Event": "SparkListenerStageSubmitted", "Stage Info": info}
        for index, task in enumerate(stage.tasks):
            yield from _task(stage, task, index, number + index, submitted)
        if stage.status != "running":
            longest = max((task.wall_ms for task in stage.tasks), default=0)
            failure = {"Failure Reason": "the stage failed"} if stage.status == "failed" else {}
            rows = [{"ID": 9, "Name": "number of output rows", "Value": stage.output_rows}]
            counted = {"Accumulables": rows} if stage.output_rows is not None else {}
            ended = {**info, "Completion Time": submitted + longest, **failure, **counted}
            yield {"Event": "SparkListenerStageCompleted", "Stage Info": ended}


def _task(stage: Stage, task: Task, index: int, number: int, submitted: int) -> Iterator[dict[str, Any]]:
    info = {
        "Task ID": number,
        "Index": index if task.index is None else task.index,
        "Attempt": 0,
        "Launch Time": submitted,
        "Executor ID": task.executor,
        "Host": f"node-{task.executor}",
        "Locality": "ANY",
        "Speculative": False,
    }
    where = {"Stage ID": stage.stage_id, "Stage Attempt ID": stage.attempt}
    yield {"Event": "SparkListenerTaskStart", **where, "Task Info": info}
    if task.reason is None:
        return
    metrics = {
        "Executor Run Time": task.wall_ms,
        "Executor CPU Time": (task.wall_ms if task.cpu_ms is None else task.cpu_ms) * 1_000_000,
        "JVM GC Time": 1,
        "Result Size": 100,
        "Memory Bytes Spilled": 3 * task.disk_spilled_bytes,
        "Disk Bytes Spilled": task.disk_spilled_bytes,
        "Shuffle Read Metrics": {
            "Remote Bytes Read": task.read_bytes,
            "Local Bytes Read": 0,
            "Total Records Read": task.read_records,
        },
    }
    yield {
        "Event": "SparkListenerTaskEnd",
        **where,
        "Task Type": "ResultTask",
        "Task End Reason": {"Reason": task.reason, **_why(task)},
        "Task Info": {**info, "Finish Time": submitted + task.wall_ms, "Failed": task.reason != "Success"},
        **({"Task Metrics": metrics} if task.metrics else {}),
    }


def _why(task: Task) -> dict[str, Any]:
    if task.error is None:
        return {}
    if task.reason == "ExceptionFailure":
        return {"Class Name": task.error.partition(":")[0], "Description": task.error.partition(": ")[2]}
    if task.reason == "FetchFailed":
        address = {"Executor ID": "7", "Host": "node-7", "Port": 7337}
        return {"Block Manager Address": address, "Message": task.error}
    return {"Executor ID": task.executor, "Loss Reason": task.error}


def even(wall_ms: int, tasks: int = 8, **more: Any) -> list[Task]:
    """Return tasks that all have the same duration and input."""
    return [Task(wall_ms, **more)] * tasks


def nightly(day: int, wall_ms: int, **more: Any) -> Run:
    """Return the run of one day, whose only stage has tasks with ``wall_ms`` as duration and as CPU time."""
    return Run([Stage(3, even(wall_ms))], app_id=f"app-{day}", start_ms=START_MS + day * DAY_MS, **more)


def counted(day: int, wall_ms: int, rows: int | None) -> Run:
    """Return the run of one day, whose only stage reads nothing and produces the given number of rows."""
    stage = Stage(3, even(wall_ms, read_bytes=0, read_records=0), output_rows=rows)
    return replace(nightly(day, wall_ms), stages=[stage])
