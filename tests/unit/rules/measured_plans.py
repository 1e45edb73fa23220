"""Plans with metrics, for tests of the columns about operators."""

from __future__ import annotations

from sparkfuse_contracts.generated.view_rows import QueryLiveRow
from sparkfuse_rules.knowledge.measured_plan import PlanMetric
from sparkfuse_rules.knowledge.query_operators import operator_columns
from sparkfuse_rules.knowledge.query_plan import QueryPlan

ROWS, MS, SHUFFLED = "number of output rows", "duration", "shuffle records written"
Node = tuple[str, int, dict[str, int]]


def columns(*nodes: Node, details: tuple[str, ...] = ()) -> QueryLiveRow:
    """Return the columns of a plan whose nodes have a name, a parent and the values of their metrics."""
    names, parents, _ = zip(*nodes, strict=True)
    measured = [(node, name, value) for node, (_, _, known) in enumerate(nodes) for name, value in known.items()]
    metrics = [PlanMetric(node, place, name) for place, (node, name, _) in enumerate(measured)]
    values = {place: value for place, (_, _, value) in enumerate(measured)}
    return operator_columns(QueryPlan(names, parents, details), metrics, values)
