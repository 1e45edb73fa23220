"""Computes the view executor_loss from an event log: executors that were lost before the application ended."""

from __future__ import annotations

from typing import cast

from sparkfuse_contracts.generated.view_rows import ExecutorLossRow
from sparkfuse_native_analytics.event_logs.table_rows import ExecutorRow
from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_rules.knowledge.application_end import DRIVERS
from sparkfuse_rules.knowledge.executor_losses import (
    ExecutorLosses,
    ExecutorRemoval,
    executor_added,
    executor_removed,
    removed_with_application,
)

VIEW = "executor_loss"


def loss_rows(application: Application) -> list[ExecutorLossRow]:
    """Return rows of executor_loss, one for each lost executor, sorted by the number of similar losses, descending.

    Executors that are removed with or after the end of the application are not lost and have no row.
    """
    executors = application.tables["executors"]
    if executors["removed_ms"].null_count == executors.num_rows:
        return []
    rows = [row for row in executors.to_pylist() if row["executor_id"] not in DRIVERS]  # the driver ends with it
    ended_ms = application.ended_ms
    losses, found = ExecutorLosses(), []
    for at_ms, leaves, row in sorted(_moves(rows), key=lambda move: move[:2]):
        if not leaves:
            losses = executor_added(losses)
            continue
        after, columns = executor_removed(losses, ExecutorRemoval(at_ms, row["added_ms"], row["removed_reason"]))
        if ended_ms is None or not removed_with_application(ended_ms, at_ms, columns["failure"]):
            losses = after
            found.append(_row(row, cast(ExecutorLossRow, columns)))
    return sorted(found, key=_most_similar_losses_first)


def _most_similar_losses_first(row: ExecutorLossRow) -> tuple[int, ...]:
    return tuple(-(row[name] or 0) for name in ("lost_alike", "lost_executors", "removed_ms"))


def _moves(rows: list[ExecutorRow]) -> list[tuple[int, bool, ExecutorRow]]:
    """Return additions and removals of executors, each as its time in ms, True for a removal, and the executor row."""
    moves = [(row["added_ms"], False, row) for row in rows if row["added_ms"] is not None]
    return moves + [(row["removed_ms"], True, row) for row in rows if row["removed_ms"] is not None]


def _row(executor: ExecutorRow, columns: ExecutorLossRow) -> ExecutorLossRow:
    return {
        "executor_id": executor["executor_id"],
        "host": executor["host"],
        "removed_ms": executor["removed_ms"],
        "reason": executor["removed_reason"],
        **columns,
    }
