"""Joins that shuffle both sides although Spark could send the smaller side to all executors instead.

The cost is the time that only the shuffle of the larger side needs, from Spark's metrics: writing it to the shuffle,
sorting it for the join, and waiting for its blocks. Serialization and compression are not included, so the cost is a
lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sparkfuse_contracts.generated.view_rows import QueryLiveRow
from sparkfuse_rules.knowledge.measured_plan import (
    DATA_BYTES,
    FETCH_WAIT_MS,
    LARGEST,
    SHUFFLE_WRITE_NS,
    SORT_TIME,
    MeasuredPlan,
)

_JOINS = ("SortMergeJoin", "ShuffledHashJoin")
# Join types whose left or right side Spark can broadcast (JoinSelectionHelper.canBuildBroadcastLeft and …Right).
_LEFT = frozenset({"Inner", "Cross", "RightOuter"})
_RIGHT = frozenset({"Inner", "Cross", "LeftOuter", "LeftSemi", "LeftAnti"})
# Nodes between a join and the exchange that shuffles for it alone.
_PASSED = frozenset({
    "AQEShuffleRead", "CustomShuffleReader", "InputAdapter", "ShuffleQueryStage", "Sort", "WholeStageCodegen",
})  # fmt: skip
_MIB = 1_048_576


@dataclass(frozen=True)
class _Side:
    """The shuffle of one side of a join: its size, and the time that it needs."""

    data_bytes: int
    task_ms: int


def shuffled_join(measured: MeasuredPlan) -> QueryLiveRow:
    """Return the columns of the join that shuffles its larger side longest for each MiB of its smaller side."""
    candidates = [sides for node in measured.named(*_JOINS) for sides in _sides(measured, node)]
    columns: QueryLiveRow = {}
    if candidates:
        small, large = max(candidates, key=lambda sides: sides[1].task_ms / (sides[0].data_bytes + _MIB))
        columns["shuffled_join_small_bytes"] = small.data_bytes
        columns["shuffled_join_large_bytes"] = large.data_bytes
        columns["shuffled_join_task_ms"] = large.task_ms
    return columns


def _sides(measured: MeasuredPlan, node: int) -> Iterator[tuple[_Side, _Side]]:
    """Yield the side that could be broadcast and the other side, if only this join needs their shuffles."""
    join_type, *keys = measured.plan.detail(node).replace(",", " ").split() or [""]
    children = measured.children(node)
    if len(children) != 2 or _serves_others(measured, node, set(keys)):
        return
    left, right = (_side(measured, child) for child in children)
    if left and right:
        if join_type in _RIGHT and right.data_bytes <= left.data_bytes:
            yield right, left
        elif join_type in _LEFT and left.data_bytes <= right.data_bytes:
            yield left, right


def _serves_others(measured: MeasuredPlan, node: int, keys: set[str]) -> bool:
    """Return whether an operator above in the same stage may need the rows by the keys of the join.

    Another join or a window does, and an aggregate that groups by one of the keys.
    """
    for above in measured.above(node):
        kind, name = measured.plan.kinds[above], measured.plan.names[above]
        if kind == "join" and "Broadcast" not in name:
            return True
        if name.startswith("Window"):
            return True
        if kind == "aggregate" and keys & set(measured.plan.detail(above).replace(",", " ").split()):
            return True
    return False


def _side(measured: MeasuredPlan, node: int) -> _Side | None:
    """Return the shuffle below a join's child; None if other operators use it too, or if it was not measured."""
    sort_ms = 0
    while measured.plan.kinds[node] != "exchange":
        children = measured.children(node)
        if measured.plan.names[node].split(" ", 1)[0] not in _PASSED or len(children) != 1:
            return None
        sort_ms += measured.values[node].get(SORT_TIME, 0)
        [node] = children
    values = measured.values[node]
    if DATA_BYTES not in values:
        return None
    shuffle_ms = values.get(SHUFFLE_WRITE_NS, 0) // 1_000_000 + values.get(FETCH_WAIT_MS, 0)
    return _Side(values[DATA_BYTES], min(sort_ms + shuffle_ms, LARGEST))
