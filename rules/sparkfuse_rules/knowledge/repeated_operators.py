"""Parts of a query that compute the same rows several times, because Spark does not reuse them.

Two groups of fused operators are equal if all their operators, the operators below them, the tables, keys and
conditions, and all numbers of rows, files and bytes read are equal. Literals are not part of a plan's details, so the
columns contain the lowest number of rows that a scan, filter or join returned: equal large numbers are no coincidence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from sparkfuse_contracts.generated.view_rows import QueryLiveRow
from sparkfuse_rules.knowledge.measured_plan import (
    DURATION,
    FILE_BYTES,
    FILES,
    LARGEST,
    OUTPUT_ROWS,
    SHUFFLED_ROWS,
    MeasuredPlan,
)
from sparkfuse_rules.knowledge.query_plan import QueryPlan

_NUMBER = re.compile(r" \([0-9]+\)$")
_COUNTS = (OUTPUT_ROWS, SHUFFLED_ROWS, FILES, FILE_BYTES)
_SELECTIVE = frozenset({"scan", "join"})


@dataclass(frozen=True)
class _Part:
    """What the nodes below a node compute: a number for each distinct content, and the evidence for its cost.

    ``ended_ms`` is the time of the tasks in the stages below; ``stage_ms`` is the time in the stage of the node.
    ``least_rows`` is the lowest number of rows of a scan, filter or join; None without such a number.
    """

    content: int
    ended_ms: int
    stage_ms: int
    least_rows: int | None
    table: str

    @property
    def task_ms(self) -> int:
        return min(self.ended_ms + self.stage_ms, LARGEST)


def repeated_part(measured: MeasuredPlan) -> QueryLiveRow:
    """Return the columns of the part whose repetitions took most time of the tasks."""
    copies: dict[int, list[_Part]] = defaultdict(list)
    for node, part in _parts(measured):
        if measured.plan.names[node].startswith("WholeStageCodegen"):
            copies[part.content].append(part)
    columns: QueryLiveRow = {}
    most = -1
    for parts in copies.values():
        rows, table = parts[0].least_rows, parts[0].table
        times = [part.task_ms for part in parts]
        # The query needs one of the copies.
        repeated_ms = min(sum(times) - max(times), LARGEST)
        if len(parts) > 1 and rows is not None and repeated_ms > most:
            most = repeated_ms
            columns = {
                "repeated_copies": len(parts),
                "repeated_rows": rows,
                "repeated_table": table,
                "repeated_task_ms": repeated_ms,
            }
    return columns


def _parts(measured: MeasuredPlan) -> Iterator[tuple[int, _Part]]:
    """Yield what each node computes, from the root on.

    Nodes of cached data, subqueries and reused exchanges are left out, because a plan may show one computation several
    times. So are nodes above data that the plan does not identify.
    """
    plan = measured.plan
    numbers: dict[tuple[object, ...], int] = {}
    parts: list[_Part | None] = [None] * len(plan.names)
    for node in range(len(plan.names) - 1, -1, -1):
        below = [part for child in measured.children(node) if (part := parts[child])]
        if len(below) == len(measured.children(node)):
            parts[node] = _part(measured, node, below, numbers)
    shown: list[bool] = []
    for node, parent in enumerate(plan.parents):
        shown.append(parent < 0 or (shown[parent] and not _is_elsewhere(plan, parent)))
        if shown[node] and (part := parts[node]):
            yield node, part


def _is_elsewhere(plan: QueryPlan, node: int) -> bool:
    """Return whether the nodes below are computed elsewhere: in another part of the plan, or by another query."""
    return plan.kinds[node] in ("cache", "subquery") or plan.names[node].startswith("Reused")


def _part(
    measured: MeasuredPlan, node: int, below: list[_Part], numbers: dict[tuple[object, ...], int]
) -> _Part | None:
    name, kind, detail = measured.plan.names[node], measured.plan.kinds[node], measured.plan.detail(node)
    if _is_elsewhere(measured.plan, node) or (not below and (kind != "scan" or not detail)):
        return None
    values = measured.values[node]
    content = (
        _NUMBER.sub("", name),
        detail,
        *(values.get(each) for each in _COUNTS),
        *(part.content for part in below),
    )
    rows = [part.least_rows for part in below]
    if kind in _SELECTIVE or name == "Filter":
        rows.append(values.get(OUTPUT_ROWS))
    ended_ms = sum(part.ended_ms for part in below)
    stage_ms = (sum if name == "Union" else max)([part.stage_ms for part in below] or [0])
    if kind in ("exchange", "broadcast"):
        ended_ms, stage_ms = ended_ms + stage_ms, 0
    return _Part(
        content=numbers.setdefault(content, len(numbers)),
        ended_ms=ended_ms,
        stage_ms=max(stage_ms, values.get(DURATION, 0)),
        least_rows=min((number for number in rows if number is not None), default=None),
        table=next((part.table for part in below), detail),
    )
