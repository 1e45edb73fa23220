"""Creates the rows of stage attempts: values of their own events and aggregates over their task ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tests.oracle.failures import FAILED_BY
from tests.oracle.queries import output_rows
from tests.oracle.tasks import slowest_task
from tests.oracle.values import Event, Row, distribution, first_jobs, scope_names, text

Number = Callable[..., int | None]
"""Reads the number at a path of keys, and counts values that are not numbers."""
Numbers = Callable[[object, str], list[int]]
"""Reads the numbers of a list, and counts values that are not numbers."""

SUMS = ("run_ms", "cpu_ns", "gc_ms", "deserialize_ms", "result_bytes", "memory_spilled_bytes", "disk_spilled_bytes",
        "shuffle_read_bytes", "shuffle_read_records", "fetch_wait_ms", "shuffle_write_bytes", "shuffle_write_records",
        "input_bytes", "input_records", "output_bytes", "output_records")  # fmt: skip
DISTRIBUTIONS = ("wall_ms", "task_run_ms", "task_shuffle_read_bytes", "task_input_bytes", "task_bytes")


class Stages:
    """Collects the events of stages and the rows of their tasks."""

    def __init__(self, number: Number, numbers: Numbers) -> None:
        self._number = number
        self._numbers = numbers
        self._stages: dict[tuple[int, int], Row] = {}

    def submitted(self, event: Event) -> None:
        """Add a StageSubmitted, with its description, job group and SQL execution."""
        stage = self._update(event)
        if stage is None:
            return
        owner = labels(event, self._number)
        stage["job_description"] = owner["description"]
        stage["job_group"] = owner["job_group"]
        stage["sql_execution_id"] = owner["sql_execution_id"]

    def completed(self, event: Event) -> None:
        """Add a StageCompleted, with its status and the largest number of output rows of one of its operators."""
        stage = self._update(event)
        if stage is not None:
            stage["status"] = "succeeded" if stage["failure_reason"] is None else "failed"
            rows = output_rows(event["Stage Info"])
            stage["operator_rows_max"] = stage["operator_rows_max"] if rows is None else rows

    def task_started(self, row: Row) -> None:
        """Add the row of a task start."""
        self._stage(row["stage_id"], row["stage_attempt"])["started_tasks"] += 1

    def task_ended(self, row: Row) -> None:
        """Add the row of a task end."""
        _aggregate(self._stage(row["stage_id"], row["stage_attempt"]), row)

    def rows(self, jobs: Iterable[Row], depths: Mapping[int, int]) -> list[Row]:
        """Return one row for each stage attempt that was submitted, completed, or had a task start or end."""
        first = first_jobs(jobs)
        rows = []
        for key in sorted(self._stages):
            stage = dict(self._stages[key])
            launches = [value for value in stage.pop("launches") if value is not None]
            finishes = [value for value in stage.pop("finishes") if value is not None]
            stage["first_launched_ms"] = min(launches, default=None)
            stage["last_finished_ms"] = max(finishes, default=None)
            stage["job_id"] = first.get(stage["stage_id"])
            stage["depth"] = depths.get(stage["stage_id"])
            slowest = slowest_task(stage.pop("slowest"))
            rows.append(stage | slowest | {name: distribution(stage[name]) for name in DISTRIBUTIONS})
        return rows

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
        number, attempt = self._number(event, "Stage ID"), self._number(event, "Stage Attempt ID")
        return None if number is None else self._stage(number, attempt or 0)

    def _update(self, event: Event) -> Row | None:
        """Update the row from a StageSubmitted or StageCompleted event.

        The first event sets the names, and the last one sets the times.
        """
        info = event.get("Stage Info")
        if not isinstance(info, dict):
            return None
        stage = self._stage_of(info)
        if stage is None:
            return None
        latest = {
            "num_tasks": self._number(info, "Number of Tasks"),
            "submitted_ms": self._number(info, "Submission Time"),
            "completed_ms": self._number(info, "Completion Time"),
            "failure_reason": text(info, "Failure Reason"),
        }
        stage.update({name: value for name, value in latest.items() if value is not None})
        first = {
            "name": text(info, "Stage Name"),
            "resource_profile_id": self._number(info, "Resource Profile Id"),
            "parent_stage_ids": self._numbers(info, "Parent IDs"),
            "scope_names": scope_names(info),
        }
        stage.update({name: value for name, value in first.items() if stage[name] in (None, [])})
        return stage


def _aggregate(stage: Row, row: Row) -> None:
    """Add a task end: sums include all task ends of the stage attempt, distributions only the succeeded ones."""
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


def labels(event: Event, number: Number) -> Row:
    """Return description, job group and SQL execution of a job or stage, from its local properties."""
    properties = event.get("Properties")
    return {
        "description": text(properties, "spark.job.description"),
        "job_group": text(properties, "spark.jobGroup.id"),
        "sql_execution_id": number(properties, "spark.sql.execution.id"),
    }
