"""Find operators of an ended query that are costly because of the way in which the query is written.

The evidence is the query's final physical plan and the last values of Spark's SQL metrics. The detect job and the
offline analysis call the same function, so live and offline columns are equal. The columns are those of ``query_live``
whose description names one operator (contracts/messages/live.proto).

Spark's metric ``duration`` of WholeStageCodegen is the time from the start of the task until the generated code has
returned its last row, summed over the tasks. It includes the operators below in the same stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sparkfuse_contracts.generated.view_rows import QueryLiveRow
from sparkfuse_rules.knowledge.query_plan import QueryPlan

LARGEST = 2**63 - 1
_OUTPUT_ROWS, _DURATION, _SORT_TIME = "number of output rows", "duration", "sort time"
_FILES, _FILE_BYTES = "number of files read", "size of files read"
_WRITTEN_FILES, _WRITTEN_BYTES, _WRITTEN_PARTITIONS = (
    "number of written files", "written output", "number of dynamic part",
)  # fmt: skip
_DATA_BYTES, _BUILD_MS, _BROADCAST_MS = "data size", "time to build", "time to broadcast"
_SHUFFLED_ROWS = "shuffle records written"
# The metrics that the columns need; the state of the detect job stores no others.
METRICS = frozenset({
    _OUTPUT_ROWS, _DURATION, _SORT_TIME, _FILES, _FILE_BYTES, _WRITTEN_FILES, _WRITTEN_BYTES, _WRITTEN_PARTITIONS,
    _DATA_BYTES, _BUILD_MS, _BROADCAST_MS, _SHUFFLED_ROWS,
})  # fmt: skip
_REREADS = "CartesianProduct"
_LOOP_JOINS = (_REREADS, "BroadcastNestedLoopJoin")
# The partitioning of an exchange after which one task has all rows.
_ONE_PARTITION = "SinglePartition"
_STAGE_ENDS = frozenset({"exchange", "broadcast", "subquery", "cache"})


@dataclass(frozen=True)
class PlanMetric:
    """A metric of a node of a plan: the number of the node, the accumulator with the value, and Spark's name."""

    node: int
    accumulator_id: int
    name: str


def operator_columns(plan: QueryPlan, metrics: Iterable[PlanMetric], values: Mapping[int, int]) -> QueryLiveRow:
    """Return the columns about the operators of a plan; ``values`` maps accumulators to their last values.

    A column is left out if no operator has the metrics for it. If several operators are of one kind, the columns
    describe the one with most pairs, files, bytes or time.
    """
    measured = _MeasuredPlan(plan, _by_node(plan, metrics, values))
    found: QueryLiveRow = {}
    for columns in (
        _worst(measured.loop_joins(), "loop_join_pairs"),
        _worst(measured.scans(), "scanned_files"),
        _worst(measured.writes(), "written_files"),
        _worst(measured.broadcasts(), "broadcast_bytes"),
        _worst(measured.gathered(), "one_task_ms"),
    ):
        found.update(columns)
    return found


def _by_node(plan: QueryPlan, metrics: Iterable[PlanMetric], values: Mapping[int, int]) -> Sequence[Mapping[str, int]]:
    """Return the values of each node's metrics by name; Spark's -1 means that a metric has no value."""
    found: list[dict[str, int]] = [{} for _ in plan.names]
    for metric in metrics:
        value = values.get(metric.accumulator_id)
        if metric.name in METRICS and value is not None and value >= 0 and 0 <= metric.node < len(found):
            found[metric.node][metric.name] = value
    return found


def _worst(candidates: Iterable[QueryLiveRow], by: str) -> QueryLiveRow:
    def size(columns: QueryLiveRow) -> int:
        value = columns.get(by)
        return value if isinstance(value, int) else 0

    nothing: QueryLiveRow = {}
    return max(candidates, key=size, default=nothing)


@dataclass(frozen=True)
class _MeasuredPlan:
    """A plan with the values of the metrics of each node."""

    plan: QueryPlan
    values: Sequence[Mapping[str, int]]

    def loop_joins(self) -> Iterator[QueryLiveRow]:
        for node in self._named(*_LOOP_JOINS):
            output = self.values[node].get(_OUTPUT_ROWS)
            if found := self._pairs(node, output):
                columns: QueryLiveRow = {"loop_join_pairs": found[0], "loop_join_small_rows": found[1]}
                if output is not None:
                    columns["loop_join_output_rows"] = output
                if (task_ms := self._task_ms(node)) is not None:
                    columns["loop_join_task_ms"] = task_ms
                yield columns

    def _pairs(self, node: int, output: int | None) -> tuple[int, int] | None:
        """Return the pairs that a join compared, and the rows of its smaller side; None if they are unknown.

        A cartesian product reads a side once for each partition of the other side. Only an exchange counts its rows
        once, so without exchanges the result is what the output rows prove.
        """
        sides = [self._rows(child) for child in self._children(node)]
        if len(sides) != 2 or sides[0] is None or sides[1] is None:
            return None
        (left, left_once), (right, right_once) = sides[0], sides[1]
        pairs, small = min(left * right, LARGEST), min(left, right)
        if self.plan.names[node].startswith(_REREADS) and not (left_once and right_once):
            return (min(pairs, output), min(small, output // max(left, right, 1))) if output is not None else None
        return pairs, small

    def scans(self) -> Iterator[QueryLiveRow]:
        for node, values in enumerate(self.values):
            if _FILES in values and _FILE_BYTES in values:
                columns: QueryLiveRow = {
                    "scanned_files": values[_FILES],
                    "scanned_file_bytes": values[_FILE_BYTES],
                }
                if detail := self.plan.detail(node):
                    columns["scanned_table"] = detail
                if (task_ms := self._task_ms(node)) is not None:
                    columns["scan_task_ms"] = task_ms
                yield columns

    def writes(self) -> Iterator[QueryLiveRow]:
        for values in self.values:
            if _WRITTEN_FILES in values and _WRITTEN_BYTES in values:
                yield {
                    "written_files": values[_WRITTEN_FILES],
                    "written_file_bytes": values[_WRITTEN_BYTES],
                    "written_partitions": values.get(_WRITTEN_PARTITIONS, 0),
                }

    def broadcasts(self) -> Iterator[QueryLiveRow]:
        for node, values in enumerate(self.values):
            if self.plan.kinds[node] == "broadcast" and _DATA_BYTES in values:
                yield {
                    "broadcast_bytes": values[_DATA_BYTES],
                    "broadcast_ms": min(values.get(_BUILD_MS, 0) + values.get(_BROADCAST_MS, 0), LARGEST),
                }

    def gathered(self) -> Iterator[QueryLiveRow]:
        """Yield the columns of each task that received all rows of an exchange."""
        for node, values in enumerate(self.values):
            if self.plan.kinds[node] == "exchange" and self.plan.detail(node).startswith(_ONE_PARTITION):
                times = [time for above in self._above(node) for time in self._times(above)]
                if times and _SHUFFLED_ROWS in values:
                    yield {"one_task_rows": values[_SHUFFLED_ROWS], "one_task_ms": max(times)}

    def _named(self, *names: str) -> Iterator[int]:
        yield from (node for node, name in enumerate(self.plan.names) if name.split(" ", 1)[0] in names)

    @cached_property
    def _data_children(self) -> Sequence[Sequence[int]]:
        return [[child for child in each if self.plan.kinds[child] != "subquery"] for each in self.plan.children]

    def _children(self, node: int) -> Sequence[int]:
        return self._data_children[node]

    def _rows(self, node: int) -> tuple[int, bool] | None:
        """Return the rows of the node, or of the nearest node below it that counts rows, and whether it is an exchange.

        The result is None if a node with several children, or without any, comes first.
        """
        while True:
            counts = (self.values[node].get(name) for name in (_OUTPUT_ROWS, _SHUFFLED_ROWS))
            if (rows := next((count for count in counts if count is not None), None)) is not None:
                return rows, self.plan.kinds[node] == "exchange"
            children = self._children(node)
            if len(children) != 1:
                return None
            [node] = children

    def _task_ms(self, node: int) -> int | None:
        """Return the duration of the nearest generated code above the node in the same stage."""
        durations = (self.values[above].get(_DURATION) for above in self._above(node))
        return next((duration for duration in durations if duration is not None), None)

    def _above(self, node: int) -> Iterator[int]:
        """Yield the nodes above a node in its stage, the nearest first."""
        above = self.plan.parents[node]
        while above >= 0 and self.plan.kinds[above] not in _STAGE_ENDS:
            yield above
            above = self.plan.parents[above]

    def _times(self, node: int) -> Iterator[int]:
        yield from (self.values[node][name] for name in (_DURATION, _SORT_TIME) if name in self.values[node])
