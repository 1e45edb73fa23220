"""An independent reader of Spark event logs: it parses every line with Python's json and follows the definitions.

The reader shares no code with the kernel, so that tests can compare both.
If an old version of Spark does not write a field, the field has the default of Spark's own reader (JsonProtocol): stage
attempt 0, no failure, zero bytes of shuffle.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.oracle.containers import unpack
from tests.oracle.executors import Executors
from tests.oracle.failures import Failures
from tests.oracle.queries import Queries
from tests.oracle.stages import Stages, labels
from tests.oracle.tasks import task_end, task_start
from tests.oracle.values import Event, Row, at, depth, text, whole_number

MAX_MALFORMED_LINES = 1000

TASK_EVENTS = {"SparkListenerTaskStart", "SparkListenerTaskEnd"}


class Oracle:
    """Reads the files of one log in order.

    Afterwards ``stages``, ``jobs``, ``executors``, ``applications``, ``tasks``, ``task_starts`` and ``failures.rows``
    are lists of rows with the kernel's columns, and ``evidence`` lists what was read, skipped and truncated.
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
        self._stages = Stages(self.number, self.numbers)
        self._jobs: dict[int, Row] = {}
        self._depths: dict[int, int] = {}
        self._executors = Executors(self.number)
        self._applications: list[Row] = []
        self._spark_version: str | None = None
        self._complete = False
        self._tasks_started: set[int] = set()
        self._tasks_ended: collections.Counter[int] = collections.Counter()

    # ---- files and lines

    def read(self, name: str, packed: bytes) -> None:
        """Read one file in any container."""
        plain = unpack(packed)
        lines, truncated = self._lines(name, plain.data)
        self._files.append({
            "name": name,
            "codec": plain.codec,
            "bytes": len(packed),
            "plain_bytes": len(plain.data),
            "lines": lines,
            "truncated": truncated or plain.error is not None,
            "error": plain.error,
        })  # fmt: skip

    def _lines(self, name: str, data: bytes) -> tuple[int, bool]:
        """Read every line.

        Return the number of lines, without a truncated last line, and whether there is one.
        """
        offset = 0
        rows = data.split(b"\n")
        tail = rows.pop()
        for number, row in enumerate(rows, start=1):
            # A line of white space is neither an event nor malformed.
            if row.strip() and not self._line(row):
                self._malformed.append({"file": name, "line": number, "offset": offset})
            offset += len(row) + 1
        if not tail.strip():
            return len(rows), False
        whole = self._line(tail)
        return len(rows) + whole, not whole

    def _line(self, row: bytes) -> bool:
        """Read the line if it is a JSON object whose ``Event`` is a string, and return whether the line was read."""
        try:
            event = json.loads(row.decode(errors="replace"))
        except (ValueError, RecursionError):
            return False
        if not isinstance(event, dict) or not isinstance(event.get("Event"), str):
            return False
        kind = event["Event"]
        if kind in TASK_EVENTS and whole_number(event.get("Stage ID")) is None:
            return False  # it belongs to no stage
        self._kinds[kind] += 1
        self.queries.read(event)
        self._executors.read(event)
        reader = READERS.get(kind)
        if reader is not None:
            reader(self, event)
        return True

    # ---- values

    def number(self, holder: Any, *path: str) -> int | None:
        """Return the integer at a path, given as a number or a string. Any other value is counted as odd."""
        value = at(holder, *path)
        if value is None:
            return None
        found = whole_number(value)
        self.odd_values += found is None
        return found

    def numbers(self, holder: Any, key: str) -> list[int]:
        """Return the integers of a list."""
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
                **labels(event, self.number),
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
        self._stages.submitted(event)

    def _stage_completed(self, event: Event) -> None:
        self._stages.completed(event)

    def _task_start(self, event: Event) -> None:
        row = task_start(event, self.number)
        self.task_starts.append(row)
        if row["task_id"] is not None:
            self._tasks_started.add(row["task_id"])
        self._stages.task_started(row)

    def _task_end(self, event: Event) -> None:
        row = task_end(event, self.number)
        self.tasks.append(row)
        if row["outcome"] == "failed":
            self.failures.add(event, row)
        if row["task_id"] is not None:
            self._tasks_ended[row["task_id"]] += 1
        self._stages.task_ended(row)

    # ---- rows of several events

    def _job(self, number: int) -> Row:
        names = ("submitted_ms", "completed_ms", "result", "failure_reason", "description", "job_group")
        empty: Row = {"job_id": number, "stage_ids": [], "sql_execution_id": None, **dict.fromkeys(names)}
        return self._jobs.setdefault(number, empty)

    # ---- results

    @property
    def stages(self) -> list[Row]:
        """Return one row for each stage attempt that was submitted, completed, or had a task start or end."""
        return self._stages.rows(self._jobs.values(), self._depths)

    @property
    def jobs(self) -> list[Row]:
        """Return one row for each job that started or ended, ordered by id."""
        return [self._jobs[number] for number in sorted(self._jobs)]

    @property
    def executors(self) -> list[Row]:
        """Return one row for each executor (or driver) that was added, was removed, or had a block manager."""
        return self._executors.rows

    @property
    def applications(self) -> list[Row]:
        """Return one row for each ApplicationStart event, or one row if there is none."""
        names = ("app_id", "attempt", "name", "user_name", "started_ms", "ended_ms")
        rows = self._applications or [dict.fromkeys(names)]
        return [row | {"spark_version": self._spark_version} for row in rows]

    @property
    def evidence(self) -> Row:
        """Return the evidence: which files and events were read, and which lines and values were skipped or invalid."""
        return {
            "files": self._files,
            "plain_bytes": sum(file["plain_bytes"] for file in self._files),
            "events": self._kinds.total(),
            "events_by_kind": dict(self._kinds),
            "malformed": len(self._malformed),
            "malformed_lines": self._malformed[:MAX_MALFORMED_LINES],
            "truncated": any(file["truncated"] for file in self._files),
            "complete": self._complete,
            "unfinished_tasks": len(self._tasks_started - self._tasks_ended.keys()),
            "duplicate_task_ends": sum(count - 1 for count in self._tasks_ended.values()),
            "odd_values": self.odd_values,
        }


READERS = {
    "SparkListenerLogStart": Oracle._log_start,
    "SparkListenerApplicationStart": Oracle._application_start,
    "SparkListenerApplicationEnd": Oracle._application_end,
    "SparkListenerJobStart": Oracle._job_start,
    "SparkListenerJobEnd": Oracle._job_end,
    "SparkListenerStageSubmitted": Oracle._stage_submitted,
    "SparkListenerStageCompleted": Oracle._stage_completed,
    "SparkListenerTaskStart": Oracle._task_start,
    "SparkListenerTaskEnd": Oracle._task_end,
}
"""The reader of each event, by Spark's name of the event. Other events are only counted."""


def read_event_log(paths: Sequence[Path]) -> Oracle:
    """Read the files of one log, in order."""
    oracle = Oracle()
    for path in paths:
        oracle.read(str(path), path.read_bytes())
    return oracle
