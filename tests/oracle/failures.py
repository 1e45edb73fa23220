"""Counts failed task attempts by stage attempt and failure class."""

from __future__ import annotations

import collections

from tests.oracle.values import Event, Row, text

FAILED_BY = {"FetchFailed": "fetch_failed", "ExecutorLostFailure": "lost", "Resubmitted": "resubmitted"}
"""Spark's end reasons that have a column of their own in the stage table."""
NO_CLASS = "UnknownReason"
MAX_CLASSES = 32
MAX_HOSTS = 32
MAX_TASKS = 1_000


class Failures:
    """Collects all failed attempts."""

    def __init__(self) -> None:
        self._failed: dict[tuple[int, int], dict[str, list[tuple[Event, Row]]]] = {}

    def add(self, event: Event, row: Row) -> None:
        """Add a failed task end: the event and its row."""
        classes = self._failed.setdefault((row["stage_id"], row["stage_attempt"]), {})
        name = NO_CLASS if row["failure_class"] is None else row["failure_class"]
        classes.setdefault(name, []).append((event, row))

    @property
    def rows(self) -> list[Row]:
        """Return one row per failure class of each stage attempt, ordered by the first failure.

        If there are too many classes, those that come first by name are returned.
        """
        return [
            {"stage_id": stage, "stage_attempt": attempt, **_row(name, failed)}
            for (stage, attempt), classes in sorted(self._failed.items())
            for name, failed in classes.items()
            if name in sorted(classes)[:MAX_CLASSES]
        ]


def _row(name: str, failed: list[tuple[Event, Row]]) -> Row:
    event, last = failed[-1]
    block = ("Task End Reason", "Block Manager Address")
    tasks = collections.Counter(row["task_index"] for _, row in failed if row["task_index"] is not None)
    counted = dict(sorted(tasks.items())[:MAX_TASKS])
    return {
        "failure_class": name,
        "failure_reason": last["failure_reason"],
        "failed": len(failed),
        "task_index": last["task_index"],
        "executor_id": _first(text(event, *block, "Executor ID"), last["executor_id"]),
        "host": _first(text(event, *block, "Host"), last["host"]),
        "hosts": min(MAX_HOSTS, len({row["host"] for _, row in failed if row["host"] is not None})),
        "failing_tasks": len(counted),
        "attempts_max": max(counted.values(), default=0),
    }


def _first(one: str | None, other: str | None) -> str | None:
    return other if one is None else one
