"""Formats the display names of all queries and stages of an event log as text for a golden file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

import sparkfuse_kernel
from sparkfuse_rules.knowledge.query_plan import QueryPlan
from sparkfuse_rules.knowledge.stage_names import StageName, name_query, name_stage

Rows = list[dict[str, Any]]


def plans_by_query(nodes: Rows) -> Mapping[int, list[QueryPlan]]:
    """Return the plan versions of each query, oldest first, from the kernel's table plan_nodes."""
    versions: dict[tuple[int, int], Rows] = defaultdict(list)
    for node in nodes:
        versions[node["sql_execution_id"], node["plan_version"]].append(node)
    plans: dict[int, list[QueryPlan]] = defaultdict(list)
    for (query, _), each in sorted(versions.items()):
        each.sort(key=lambda node: node["node"])
        plans[query].append(QueryPlan(*(tuple(node[name] for node in each) for name in ("name", "parent", "detail"))))
    return plans


class NamedLog:
    """An event log with the plans of its queries."""

    def __init__(self, log: Path) -> None:
        tables = sparkfuse_kernel.read_event_log([str(log)])
        self.stages: Rows = pa.table(tables.stages).to_pylist()
        self.queries: Rows = pa.table(tables.sql_executions).to_pylist()
        self.plans = plans_by_query(pa.table(tables.plan_nodes).to_pylist())

    def stage_name(self, stage: Mapping[str, Any], plans: list[QueryPlan] | None = None) -> StageName:
        """Return the name of a stage, by default with all plan versions of its query."""
        query = stage["sql_execution_id"]
        return name_stage(
            stage["stage_id"],
            query_id=query,
            scope_names=stage["scope_names"],
            plans=self.plans.get(query, []) if plans is None else plans,
            call_site=stage["call_site"],
            spark_name=stage["name"],
        )

    def lines(self) -> Iterator[str]:
        """Yield each query followed by its stages, then the stages that belong to no query."""
        for query in sorted(self.queries, key=lambda row: row["sql_execution_id"]):
            number = query["sql_execution_id"]
            name = name_query(
                number,
                description=query["description"],
                call_site=query["call_site"],
                plans=self.plans.get(number, []),
            )
            yield f"{name.name} | {name.title} | {name.sources or '-'} | {name.sink or '-'}"
            yield from self._stages(number)
        yield "no query"
        yield from self._stages(None)

    def _stages(self, query: int | None) -> Iterator[str]:
        for stage in sorted(self.stages, key=lambda row: row["stage_id"]):
            if stage["sql_execution_id"] == query:
                name = self.stage_name(stage)
                yield f"    {stage['stage_id']} {name.name} | {name.title}"
