"""An independent reader of Spark event logs: every line through Python's json, every number by its definition.

It shares no code with the kernel, so that the two can be held against each other.
Where Spark wrote a field later than others, its absence means what Spark's own reader (JsonProtocol) takes for it:
a stage attempt 0, no failure, zero bytes of a shuffle that nobody measured.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.oracle.containers import unpack
from tests.oracle.failures import FAILED_BY, Failures
from tests.oracle.queries import Queries, output_rows
from tests.oracle.tasks import slowest_task, task_end, task_start
from tests.oracle.values import Event, Row, at, depth, distribution, first_jobs, scope_names, text, whole_number

MOST_MALFORMED_LINES = 1000

SUMS = ("run_ms", "cpu_ns", "gc_ms", "deserialize_ms", "result_bytes", "memory_spilled_bytes", "disk_spilled_bytes",
        "shuffle_read_bytes", "shuffle_read_records", "fetch_wait_ms", "shuffle_write_bytes", "shuffle_write_records",
        "input_bytes", "input_records", "output_bytes", "output_records")  # fmt: skip
TASK_EVENTS = {"SparkListenerTaskStart", "SparkListenerTaskEnd"}
DISTRIBUTIONS = ("wall_ms", "task_run_ms", "task_shuffle_read_bytes", "task_input_bytes", "task_bytes")


class Oracle:
    """Reads the files of one log in their order.

    Afterwards ``stages``, ``jobs``, ``executors``, ``applications``, ``tasks``, ``task_starts`` and ``failures.rows``
    are lists of rows with the kernel's columns, and ``evidence`` tells what was read, skipped and torn.
    """

    def __init__(self) -> None:
        self.odd_values = 0
        self.tasks: list[Row] = []
        self.task_starts: list[Row] = []
        self.queries = Queries(self.number)
        self.failures = Failures()
        self._files: list[Row] = []
        self._kinds: collections.Counter[str] = collections.Counter()
        self._malformed: list[Row] = []
        self._stages: dict[tuple[int, int], Row] = {}
        self._jobs: dict[int, Row] = {}
        self._depths: dict[int, int] = {}
        self._executors: dict[str, Row] = {}
        self._applications: list[Row] = []
        self._spark_version: str | None = None
        self._complete = False
        self._tasks_started: set[int] = set()
        self._tasks_ended: collections.Counter[int] = collections.Counter()

    # ---- files and lines

    def read(self, name: str, packed: bytes) -> None:
        """One file, in whatever container."""
        plain = unpack(packed)
        lines, torn = self._lines(name, plain.data)
        self._files.append({
            "name": name,
            "codec": plain.codec,
            "bytes": len(packed),
            "plain_bytes": len(plain.data),
            "lines": lines,
            "truncated": torn or plain.error is not None,
            "error": plain.error,
        })  # fmt: skip

    def _lines(self, name: str, data: bytes) -> tuple[int, bool]:
        """Take every line; the answer is their number without a torn tail, and whether there is one."""
        offset = 0
        rows = data.split(b"\n")
        tail = rows.pop()
        for number, row in enumerate(rows, start=1):
            # A line of nothing but white space says nothing, and hides nothing.
            if row.strip() and not self._line(row):
                self._malformed.append({"file": name, "line": number, "offset": offset})
            offset += len(row) + 1
        if not tail.strip():
            return len(rows), False
        whole = self._line(tail)
        return len(rows) + whole, not whole

    def _line(self, row: bytes) -> bool:
        """Whether the line is a JSON object with the text ``Event``; if so, take it."""
        try:
            event = json.loads(row.decode(errors="replace"))
        except (ValueError, RecursionError):
            return False
        if not isinstance(event, dict) or not isinstance(event.get("Event"), str):
            return False
        kind = event["Event"]
        if kind in TASK_EVENTS and whole_number(event.get("Stage ID")) is None:
            return False  # nobody could say to which stage it belongs
        self._kinds[kind] += 1
        self.queries.take(event)
        take = TAKES.get(kind)
        if take is not None:
            take(self, event)
        return True

    # ---- what a value is

    def number(self, holder: Any, *path: str) -> int | None:
        """The whole number at this path, also when it came as a string; counted as odd when it is there and none."""
        value = at(holder, *path)
        if value is None:
            return None
        found = whole_number(value)
        self.odd_values += found is None
        return found

    def numbers(self, holder: Any, key: str) -> list[int]:
        """The whole numbers of a list."""
        values = at(holder, key)
        found = [whole_number(value) for value in values] if isinstance(values, list) else []
        self.odd_values += sum(value is None for value in found)
        return [value for value in found if value is not None]

    # ---- events

    def _log_start(self, event: Event) -> None:
        self._spark_version = self._spark_version or text(event, "Spark Version")

    def _application_start(self, event: Event) -> None:
        self._applications.append({
            "app_id": text(event, "App ID"),
            "attempt": text(event, "App Attempt ID"),
            "name": text(event, "App Name"),
            "user_name": text(event, "User"),
            "started_ms": self.number(event, "Timestamp"),
            "ended_ms": None,
        })  # fmt: skip

    def _application_end(self, event: Event) -> None:
        self._complete = True
        ended = self.number(event, "Timestamp")
        if not self._applications:
            self._applications.append(dict.fromkeys(("app_id", "attempt", "name", "user_name", "started_ms")))
        self._applications[-1]["ended_ms"] = ended

    def _job_start(self, event: Event) -> None:
        number = self.number(event, "Job ID")
        if number is None:
            return
        self._job(number).update(
            {
                "submitted_ms": self.number(event, "Submission Time"),
                "stage_ids": self.numbers(event, "Stage IDs"),
                **self._labels(event),
            }
        )
        infos = event.get("Stage Infos") or []
        parents = {self.number(info, "Stage ID"): self.numbers(info, "Parent IDs") for info in infos}
        self._depths |= {stage: depth(stage, parents) for stage in parents if stage is not None}

    def _job_end(self, event: Event) -> None:
        number = self.number(event, "Job ID")
        if number is None:
            return
        self._job(number).update(
            {
                "completed_ms": self.number(event, "Completion Time"),
                "result": text(event, "Job Result", "Result"),
                "failure_reason": text(event, "Job Result", "Exception", "Message"),
            }
        )

    def _stage_submitted(self, event: Event) -> None:
        stage = self._stage_info(event)
        if stage is None:
            return
        labels = self._labels(event)
        stage["job_description"] = labels["description"]
        stage["job_group"] = labels["job_group"]
        stage["sql_execution_id"] = labels["sql_execution_id"]

    def _stage_completed(self, event: Event) -> None:
        stage = self._stage_info(event)
        if stage is not None:
            stage["status"] = "succeeded" if stage["failure_reason"] is None else "failed"
            made = output_rows(event["Stage Info"])
            stage["operator_rows_max"] = stage["operator_rows_max"] if made is None else made

    def _task_start(self, event: Event) -> None:
        row = task_start(event, self.number)
        self.task_starts.append(row)
        if row["task_id"] is not None:
            self._tasks_started.add(row["task_id"])
        self._stage(row["stage_id"], row["stage_attempt"])["started_tasks"] += 1

    def _task_end(self, event: Event) -> None:
        row = task_end(event, self.number)
        self.tasks.append(row)
        if row["outcome"] == "failed":
            self.failures.add(event, row)
        if row["task_id"] is not None:
            self._tasks_ended[row["task_id"]] += 1
        self._tally(self._stage(row["stage_id"], row["stage_attempt"]), row)

    @staticmethod
    def _tally(stage: Row, row: Row) -> None:
        """Every number here is summed over all ends of the stage attempt; the distributions take the succeeded ones."""
        launched, finished = row["launched_ms"], row["finished_ms"]
        wall = None if launched is None or finished is None else finished - launched
        stage["tasks"] += 1
        if row["reason"] in FAILED_BY:
            stage[FAILED_BY[row["reason"]]] += 1
        stage["succeeded" if row["outcome"] == "success" else row["outcome"]] += 1
        stage["speculative"] += row["speculative"] is True
        stage["without_metrics"] += not row["has_metrics"]
        stage["launches"].append(launched)
        stage["finishes"].append(finished)
        stage["ended_wall_ms"] += wall or 0
        for name in SUMS:
            stage[name] += row[name] or 0
        if (row["disk_spilled_bytes"] or 0) > 0:
            stage["spilled_tasks"] += 1
            stage["spilled_wall_ms"] += wall or 0
        if row["outcome"] != "success":
            return
        if wall is not None:
            stage["wall_ms"].append(wall)
            stage["slowest"].append((-wall, row["task_index"] is None, row["task_index"] or 0, row))
        if row["has_metrics"]:
            shuffled, read = row["shuffle_read_bytes"] or 0, row["input_bytes"] or 0
            stage["task_run_ms"].append(row["run_ms"] or 0)
            stage["task_shuffle_read_bytes"].append(shuffled)
            stage["task_input_bytes"].append(read)
            stage["task_bytes"].append(shuffled + read)
            if stage["biggest_task_bytes"] is None or shuffled + read > stage["biggest_task_bytes"]:
                stage["biggest_task_index"] = row["task_index"]
                stage["biggest_task_bytes"] = shuffled + read
                stage["biggest_task_ms"] = wall

    def _executor_added(self, event: Event) -> None:
        executor = self._executor(text(event, "Executor ID"))
        if executor is not None:
            executor["host"] = text(event, "Executor Info", "Host")
            executor["cores"] = self.number(event, "Executor Info", "Total Cores")
            executor["added_ms"] = self.number(event, "Timestamp")

    def _executor_removed(self, event: Event) -> None:
        executor = self._executor(text(event, "Executor ID"))
        if executor is not None:
            executor["removed_ms"] = self.number(event, "Timestamp")
            executor["removed_reason"] = text(event, "Removed Reason")

    def _block_manager_added(self, event: Event) -> None:
        """Spark before 1.3 told of an executor by its block manager alone; the driver's is no executor."""
        name = text(event, "Block Manager ID", "Executor ID")
        if name in {"driver", "<driver>"}:
            return
        executor = self._executor(name)
        if executor is not None:
            executor["host"] = executor["host"] or text(event, "Block Manager ID", "Host")
            executor["storage_memory_bytes"] = self.number(event, "Maximum Memory")
            added = self.number(event, "Timestamp")
            executor["added_ms"] = added if executor["added_ms"] is None else executor["added_ms"]

    # ---- rows that grow

    def _job(self, number: int) -> Row:
        names = ("submitted_ms", "completed_ms", "result", "failure_reason", "description", "job_group")
        empty: Row = {"job_id": number, "stage_ids": [], "sql_execution_id": None, **dict.fromkeys(names)}
        return self._jobs.setdefault(number, empty)

    def _executor(self, name: str | None) -> Row | None:
        if name is None:
            return None
        names = ("host", "cores", "added_ms", "removed_ms", "removed_reason", "storage_memory_bytes")
        return self._executors.setdefault(name, {"executor_id": name, **dict.fromkeys(names)})

    def _stage(self, number: int, attempt: int) -> Row:
        counts = ("started_tasks", "tasks", "succeeded", "failed", "killed", "speculative", "without_metrics",
                  "spilled_tasks", "spilled_wall_ms", "ended_wall_ms", *FAILED_BY.values(), *SUMS)  # fmt: skip
        absent = ("name", "num_tasks", "submitted_ms", "completed_ms", "failure_reason", "sql_execution_id",
                  "job_description", "job_group", "resource_profile_id", "biggest_task_index", "biggest_task_bytes",
                  "biggest_task_ms", "operator_rows_max")  # fmt: skip
        empty: Row = {
            "stage_id": number,
            "stage_attempt": attempt,
            "status": "running",
            "parent_stage_ids": [],
            "scope_names": [],
            **dict.fromkeys(counts, 0),
            **dict.fromkeys(absent),
            **{name: [] for name in (*DISTRIBUTIONS, "launches", "finishes", "slowest")},
        }
        return self._stages.setdefault((number, attempt), empty)

    def _stage_of(self, event: Event) -> Row | None:
        number, attempt = self.number(event, "Stage ID"), self.number(event, "Stage Attempt ID")
        return None if number is None else self._stage(number, attempt or 0)

    def _stage_info(self, event: Event) -> Row | None:
        """What StageSubmitted and StageCompleted say alike: what a stage is stands at once, how it goes comes later."""
        info = event.get("Stage Info")
        if not isinstance(info, dict):
            return None
        stage = self._stage_of(info)
        if stage is None:
            return None
        told = {
            "num_tasks": self.number(info, "Number of Tasks"),
            "submitted_ms": self.number(info, "Submission Time"),
            "completed_ms": self.number(info, "Completion Time"),
            "failure_reason": text(info, "Failure Reason"),
        }
        stage.update({name: value for name, value in told.items() if value is not None})
        known = {
            "name": text(info, "Stage Name"),
            "resource_profile_id": self.number(info, "Resource Profile Id"),
            "parent_stage_ids": self.numbers(info, "Parent IDs"),
            "scope_names": scope_names(info),
        }
        stage.update({name: value for name, value in known.items() if stage[name] in (None, [])})
        return stage

    def _labels(self, event: Event) -> Row:
        properties = event.get("Properties")
        return {
            "description": text(properties, "spark.job.description"),
            "job_group": text(properties, "spark.jobGroup.id"),
            "sql_execution_id": self.number(properties, "spark.sql.execution.id"),
        }

    # ---- the answers

    @property
    def stages(self) -> list[Row]:
        """A row a stage attempt that was submitted, completed, or had a task start or end."""
        jobs = first_jobs(self._jobs.values())
        rows = []
        for key in sorted(self._stages):
            stage = dict(self._stages[key])
            launches = [value for value in stage.pop("launches") if value is not None]
            finishes = [value for value in stage.pop("finishes") if value is not None]
            stage["first_launched_ms"] = min(launches, default=None)
            stage["last_finished_ms"] = max(finishes, default=None)
            stage["job_id"] = jobs.get(stage["stage_id"])
            stage["depth"] = self._depths.get(stage["stage_id"])
            slowest = slowest_task(stage.pop("slowest"))
            rows.append(stage | slowest | {name: distribution(stage[name]) for name in DISTRIBUTIONS})
        return rows

    @property
    def jobs(self) -> list[Row]:
        """A row a job that started or ended, by its number."""
        return [self._jobs[number] for number in sorted(self._jobs)]

    @property
    def executors(self) -> list[Row]:
        """A row an executor (the driver too) that was added, removed, or had a block manager."""
        return [self._executors[name] for name in sorted(self._executors)]

    @property
    def applications(self) -> list[Row]:
        """A row an ApplicationStart, and one row where there is none."""
        names = ("app_id", "attempt", "name", "user_name", "started_ms", "ended_ms")
        rows = self._applications or [dict.fromkeys(names)]
        return [row | {"spark_version": self._spark_version} for row in rows]

    @property
    def evidence(self) -> Row:
        """What was read, skipped and torn."""
        return {
            "files": self._files,
            "plain_bytes": sum(file["plain_bytes"] for file in self._files),
            "events": self._kinds.total(),
            "events_by_kind": dict(self._kinds),
            "malformed": len(self._malformed),
            "malformed_lines": self._malformed[:MOST_MALFORMED_LINES],
            "truncated": any(file["truncated"] for file in self._files),
            "complete": self._complete,
            "unfinished_tasks": len(self._tasks_started - self._tasks_ended.keys()),
            "duplicate_task_ends": sum(count - 1 for count in self._tasks_ended.values()),
            "odd_values": self.odd_values,
        }


TAKES = {
    "SparkListenerLogStart": Oracle._log_start,
    "SparkListenerApplicationStart": Oracle._application_start,
    "SparkListenerApplicationEnd": Oracle._application_end,
    "SparkListenerJobStart": Oracle._job_start,
    "SparkListenerJobEnd": Oracle._job_end,
    "SparkListenerStageSubmitted": Oracle._stage_submitted,
    "SparkListenerStageCompleted": Oracle._stage_completed,
    "SparkListenerTaskStart": Oracle._task_start,
    "SparkListenerTaskEnd": Oracle._task_end,
    "SparkListenerExecutorAdded": Oracle._executor_added,
    "SparkListenerExecutorRemoved": Oracle._executor_removed,
    "SparkListenerBlockManagerAdded": Oracle._block_manager_added,
}
"""What is done with an event, by the name that Spark gives it; every other event is only counted."""


def read_event_log(paths: Sequence[Path]) -> Oracle:
    """The files of one log, in their order."""
    oracle = Oracle()
    for path in paths:
        oracle.read(str(path), path.read_bytes())
    return oracle
