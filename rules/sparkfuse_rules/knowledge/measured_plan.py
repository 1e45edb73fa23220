"""A query's final plan with the last values of Spark's metrics of its nodes.

Spark's metric ``duration`` of WholeStageCodegen is the time from the start of the task until the generated code has
returned its last row, summed over the tasks. It includes the operators below in the same stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sparkfuse_rules.knowledge.query_plan import QueryPlan

LARGEST = 2**63 - 1
OUTPUT_ROWS, DURATION, SORT_TIME = "number of output rows", "duration", "sort time"
FILES, FILE_BYTES = "number of files read", "size of files read"
WRITTEN_FILES, WRITTEN_BYTES, WRITTEN_PARTITIONS = (
    "number of written files", "written output", "number of dynamic part",
)  # fmt: skip
DATA_BYTES, BUILD_MS, BROADCAST_MS = "data size", "time to build", "time to broadcast"
SHUFFLED_ROWS, SHUFFLE_WRITE_NS, FETCH_WAIT_MS = "shuffle records written", "shuffle write time", "fetch wait time"
# The metrics that the columns need; the state of the detect job stores no others.
METRICS = frozenset({
    OUTPUT_ROWS, DURATION, SORT_TIME, FILES, FILE_BYTES, WRITTEN_FILES, WRITTEN_BYTES, WRITTEN_PARTITIONS,
    DATA_BYTES, BUILD_MS, BROADCAST_MS, SHUFFLED_ROWS, SHUFFLE_WRITE_NS, FETCH_WAIT_MS,
})  # fmt: skip
_STAGE_ENDS = frozenset({"exchange", "broadcast", "subquery", "cache"})


@dataclass(frozen=True)
class PlanMetric:
    """A metric of a node of a plan: the number of the node, the accumulator with the value, and Spark's name."""

    node: int
    accumulator_id: int
    name: str


@dataclass(frozen=True)
class MeasuredPlan:
    """A plan with the values of the metrics of each node by their names."""

    plan: QueryPlan
    values: Sequence[Mapping[str, int]]

    @classmethod
    def of(cls, plan: QueryPlan, metrics: Iterable[PlanMetric], values: Mapping[int, int]) -> MeasuredPlan:
        """Return the plan with its values; Spark's -1 means that a metric has no value."""
        found: list[dict[str, int]] = [{} for _ in plan.names]
        for metric in metrics:
            value = values.get(metric.accumulator_id)
            if metric.name in METRICS and value is not None and value >= 0 and 0 <= metric.node < len(found):
                found[metric.node][metric.name] = value
        return cls(plan, found)

    def named(self, *names: str) -> Iterator[int]:
        """Yield the nodes whose first word is one of the names."""
        yield from (node for node, name in enumerate(self.plan.names) if name.split(" ", 1)[0] in names)

    @cached_property
    def _data_children(self) -> Sequence[Sequence[int]]:
        return [[child for child in each if self.plan.kinds[child] != "subquery"] for each in self.plan.children]

    def children(self, node: int) -> Sequence[int]:
        """Return the children that give rows to the node, without subqueries."""
        return self._data_children[node]

    def rows(self, node: int) -> tuple[int, bool] | None:
        """Return the rows of the node, or of the nearest node below it that counts rows, and whether it is an exchange.

        The result is None if a node with several children, or without any, comes first.
        """
        while True:
            counts = (self.values[node].get(name) for name in (OUTPUT_ROWS, SHUFFLED_ROWS))
            if (rows := next((count for count in counts if count is not None), None)) is not None:
                return rows, self.plan.kinds[node] == "exchange"
            children = self.children(node)
            if len(children) != 1:
                return None
            [node] = children

    def task_ms(self, node: int) -> int | None:
        """Return the duration of the nearest generated code above the node in the same stage."""
        durations = (self.values[above].get(DURATION) for above in self.above(node))
        return next((duration for duration in durations if duration is not None), None)

    def above(self, node: int) -> Iterator[int]:
        """Yield the nodes above a node in its stage, the nearest first."""
        above = self.plan.parents[node]
        while above >= 0 and self.plan.kinds[above] not in _STAGE_ENDS:
            yield above
            above = self.plan.parents[above]
