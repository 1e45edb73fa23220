"""Decides whether the cost of a query's operator is new for the job, so that a nightly job is not reported each night.

A cost is reported by one run, and again by later runs after a week or if it has grown by half. All queries of that run
report it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkfuse_contracts.generated.live_pb2 import LiveRow, QueryLive
from sparkfuse_stream_jobs.detect.state.values import MapState

# The flag of each kind of operator, and the columns with its costs.
COSTS = {
    "loop_join_due": ("loop_join_task_ms",),
    "broadcast_due": ("broadcast_bytes", "broadcast_ms"),
    "one_task_due": ("one_task_ms",),
    "shuffled_join_due": ("shuffled_join_task_ms",),
    "repeated_due": ("repeated_task_ms",),
}
# Half a day less than a week, because a daily run may start a little earlier than a week ago.
REPEAT_MS = int(6.5 * 86_400_000)
GROWTH = 1.5


@dataclass(frozen=True)
class ReportedCost:
    """The highest cost of the run that reported it; ``at_ms`` is the end of the window of its first row."""

    value: int
    at_ms: int
    run_key: str


def has_costs(query: QueryLive) -> bool:
    """Return whether the row of a query has a cost."""
    return any(query.HasField(column) for columns in COSTS.values() for column in columns)


def fill_due(row: LiveRow, reported: MapState[ReportedCost]) -> LiveRow:
    """Add the flags of the costs in the row of a query; ``reported`` has the costs of the job by column."""
    for flag, columns in COSTS.items():
        # Each cost is stored, also if another cost of the operator is due already.
        due = [_is_due(row, column, reported) for column in columns if row.query.HasField(column)]
        if due:
            setattr(row.query, flag, any(due))
    return row


def _is_due(row: LiveRow, column: str, reported: MapState[ReportedCost]) -> bool:
    """Return whether the run of the row reports the cost, and then store the cost."""
    value, known = getattr(row.query, column), reported.get(column)
    same_run = known is not None and known.run_key == row.run_key
    if known and not same_run and value < GROWTH * known.value and row.window_end_ms < known.at_ms + REPEAT_MS:
        return False
    if known is None or not same_run:
        reported.put(column, ReportedCost(value, row.window_end_ms, row.run_key))
    elif value > known.value:
        reported.put(column, ReportedCost(value, known.at_ms, row.run_key))
    return True
