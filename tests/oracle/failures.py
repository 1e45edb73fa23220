"""Failed task attempts by stage attempt and class, every number by its definition."""

from __future__ import annotations

import collections

from tests.oracle.values import Event, Row, text

FAILED_BY = {"FetchFailed": "fetch_failed", "ExecutorLostFailure": "lost", "Resubmitted": "resubmitted"}
"""Spark's end reasons that a stage counts by themselves, and its columns for them."""
NO_CLASS = "UnknownReason"
MOST_CLASSES = 32
MOST_HOSTS = 32
MOST_TASKS = 1_000


class Failures:
    """Keeps every failed attempt, and answers at the end."""

    def __init__(self) -> None:
        self._failed: dict[tuple[int, int], dict[str, list[tuple[Event, Row]]]] = {}

    def add(self, event: Event, row: Row) -> None:
        """A TaskEnd that failed, as it is and as a row."""
        of_stage = self._failed.setdefault((row["stage_id"], row["stage_attempt"]), {})
        name = NO_CLASS if row["failure_class"] is None else row["failure_class"]
        of_stage.setdefault(name, []).append((event, row))

    @property
    def rows(self) -> list[Row]:
        """A row for each class of each stage attempt, the first classes only."""
        return [
            {"stage_id": stage, "stage_attempt": attempt, **_row(name, failed)}
            for (stage, attempt), classes in sorted(self._failed.items())
            for name, failed in list(classes.items())[:MOST_CLASSES]
        ]


def _row(name: str, failed: list[tuple[Event, Row]]) -> Row:
    event, last = failed[-1]
    block = ("Task End Reason", "Block Manager Address")
    tasks = collections.Counter(row["task_index"] for _, row in failed if row["task_index"] is not None)
    told = dict(list(tasks.items())[:MOST_TASKS])
    return {
        "failure_class": name,
        "failure_reason": last["failure_reason"],
        "failed": len(failed),
        "task_index": last["task_index"],
        "executor_id": _first(text(event, *block, "Executor ID"), last["executor_id"]),
        "host": _first(text(event, *block, "Host"), last["host"]),
        "hosts": min(MOST_HOSTS, len({row["host"] for _, row in failed if row["host"] is not None})),
        "failing_tasks": len(told),
        "attempts_max": max(told.values(), default=0),
    }


def _first(one: str | None, other: str | None) -> str | None:
    return other if one is None else one
