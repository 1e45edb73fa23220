"""Find operators of an ended query that are costly because of the way in which the query is written.

The evidence is the query's final physical plan and the last values of Spark's SQL metrics. The detect job and the
offline analysis call the same function, so live and offline columns are equal. The columns are those of ``query_live``
whose description names one operator (contracts/messages/live.proto).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sparkfuse_contracts.generated.view_rows import QueryLiveRow
from sparkfuse_rules.knowledge import measured_plan as metric
from sparkfuse_rules.knowledge.measured_plan import LARGEST, MeasuredPlan, PlanMetric
from sparkfuse_rules.knowledge.query_plan import QueryPlan
from sparkfuse_rules.knowledge.repeated_operators import repeated_part
from sparkfuse_rules.knowledge.shuffled_joins import shuffled_join

_REREADS = "CartesianProduct"
_LOOP_JOINS = (_REREADS, "BroadcastNestedLoopJoin")
# The partitioning of an exchange after which one task has all rows.
_ONE_PARTITION = "SinglePartition"


def operator_columns(plan: QueryPlan, metrics: Iterable[PlanMetric], values: Mapping[int, int]) -> QueryLiveRow:
    """Return the columns about the operators of a plan; ``values`` maps accumulators to their last values.

    A column is left out if no operator has the metrics for it. If several operators are of one kind, the columns
    describe the one with most pairs, files, bytes or time.
    """
    measured = MeasuredPlan.of(plan, metrics, values)
    found: QueryLiveRow = {}
    for columns in (
        _worst(_loop_joins(measured), "loop_join_pairs"),
        _worst(_scans(measured), "scanned_files"),
        _worst(_writes(measured), "written_files"),
        _worst(_broadcasts(measured), "broadcast_bytes"),
        _worst(_gathered(measured), "one_task_ms"),
        shuffled_join(measured),
        repeated_part(measured),
    ):
        found.update(columns)
    return found


def _worst(candidates: Iterable[QueryLiveRow], by: str) -> QueryLiveRow:
    def size(columns: QueryLiveRow) -> int:
        value = columns.get(by)
        return value if isinstance(value, int) else 0

    nothing: QueryLiveRow = {}
    return max(candidates, key=size, default=nothing)


def _loop_joins(measured: MeasuredPlan) -> Iterator[QueryLiveRow]:
    for node in measured.named(*_LOOP_JOINS):
        output = measured.values[node].get(metric.OUTPUT_ROWS)
        if found := _pairs(measured, node, output):
            columns: QueryLiveRow = {"loop_join_pairs": found[0], "loop_join_small_rows": found[1]}
            if output is not None:
                columns["loop_join_output_rows"] = output
            if (task_ms := measured.task_ms(node)) is not None:
                columns["loop_join_task_ms"] = task_ms
            yield columns


def _pairs(measured: MeasuredPlan, node: int, output: int | None) -> tuple[int, int] | None:
    """Return the pairs that a join compared, and the rows of its smaller side; None if they are unknown.

    A cartesian product reads a side once for each partition of the other side. Only an exchange counts its rows
    once, so without exchanges the result is what the output rows prove.
    """
    sides = [measured.rows(child) for child in measured.children(node)]
    if len(sides) != 2 or sides[0] is None or sides[1] is None:
        return None
    (left, left_once), (right, right_once) = sides[0], sides[1]
    pairs, small = min(left * right, LARGEST), min(left, right)
    if measured.plan.names[node].startswith(_REREADS) and not (left_once and right_once):
        return (min(pairs, output), min(small, output // max(left, right, 1))) if output is not None else None
    return pairs, small


def _scans(measured: MeasuredPlan) -> Iterator[QueryLiveRow]:
    for node, values in enumerate(measured.values):
        if metric.FILES in values and metric.FILE_BYTES in values:
            columns: QueryLiveRow = {
                "scanned_files": values[metric.FILES],
                "scanned_file_bytes": values[metric.FILE_BYTES],
            }
            if detail := measured.plan.detail(node):
                columns["scanned_table"] = detail
            if (task_ms := measured.task_ms(node)) is not None:
                columns["scan_task_ms"] = task_ms
            yield columns


def _writes(measured: MeasuredPlan) -> Iterator[QueryLiveRow]:
    for values in measured.values:
        if metric.WRITTEN_FILES in values and metric.WRITTEN_BYTES in values:
            yield {
                "written_files": values[metric.WRITTEN_FILES],
                "written_file_bytes": values[metric.WRITTEN_BYTES],
                "written_partitions": values.get(metric.WRITTEN_PARTITIONS, 0),
            }


def _broadcasts(measured: MeasuredPlan) -> Iterator[QueryLiveRow]:
    for node, values in enumerate(measured.values):
        if measured.plan.kinds[node] == "broadcast" and metric.DATA_BYTES in values:
            yield {
                "broadcast_bytes": values[metric.DATA_BYTES],
                "broadcast_ms": min(values.get(metric.BUILD_MS, 0) + values.get(metric.BROADCAST_MS, 0), LARGEST),
            }


def _gathered(measured: MeasuredPlan) -> Iterator[QueryLiveRow]:
    """Yield the columns of each task that received all rows of an exchange."""
    for node, values in enumerate(measured.values):
        if measured.plan.kinds[node] == "exchange" and measured.plan.detail(node).startswith(_ONE_PARTITION):
            times = [time for above in measured.above(node) for time in _times(measured, above)]
            if times and metric.SHUFFLED_ROWS in values:
                yield {"one_task_rows": values[metric.SHUFFLED_ROWS], "one_task_ms": max(times)}


def _times(measured: MeasuredPlan, node: int) -> Iterator[int]:
    values = measured.values[node]
    yield from (values[name] for name in (metric.DURATION, metric.SORT_TIME) if name in values)
