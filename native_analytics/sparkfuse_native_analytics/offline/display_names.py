"""Display names of the queries and stages of one application, computed by the functions that the detect job uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sparkfuse_rules.knowledge.query_plan import QueryPlan
from sparkfuse_rules.knowledge.stage_names import QueryName, StageName, name_query, name_stage

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class DisplayNames:
    """Names of queries by SQL execution id, of stages by stage id; ``queries_of_stages`` maps stages to queries."""

    queries: Mapping[int, QueryName] = field(default_factory=dict)
    stages: Mapping[int, StageName] = field(default_factory=dict)
    queries_of_stages: Mapping[int, int] = field(default_factory=dict)

    def stage_name(self, stage_id: int | None) -> str | None:
        """Return the short name of a stage; None if the log does not have the stage."""
        name = self.stages.get(stage_id) if stage_id is not None else None
        return name.name if name else None

    def query_of(self, stage_id: int | None) -> int | None:
        """Return the SQL execution of a stage; None if the stage belongs to no SQL execution."""
        return self.queries_of_stages.get(stage_id) if stage_id is not None else None


def display_names(tables: Mapping[str, pa.Table]) -> DisplayNames:
    """Return names for the queries and stages of an application, computed from the kernel's tables."""
    plans = _plans(tables["plan_nodes"])
    stages: dict[int, StageName] = {}
    queries_of_stages: dict[int, int] = {}
    for row in _rows(tables["stages"], "stage_id", "name", "scope_names", "sql_execution_id", "call_site"):
        stage_id, query_id = row["stage_id"], row["sql_execution_id"]
        if query_id is not None:
            queries_of_stages[stage_id] = query_id
        if stage_id not in stages or not stages[stage_id].name:
            stages[stage_id] = name_stage(
                stage_id,
                query_id=query_id,
                scope_names=row["scope_names"] or (),
                plans=plans.get(query_id, ()) if query_id is not None else (),
                call_site=row["call_site"],
                spark_name=row["name"],
            )
    executions = {row["sql_execution_id"]: row for row in tables["sql_executions"].to_pylist()}
    queries = {}
    # A truncated log can contain stages of a query whose start event is lost.
    for query_id in {*executions, *queries_of_stages.values()}:
        row = executions.get(query_id, {})
        queries[query_id] = name_query(
            query_id,
            description=row.get("description"),
            call_site=row.get("call_site"),
            plans=plans.get(query_id, ()),
        )
    return DisplayNames(queries, stages, queries_of_stages)


def _plans(plan_nodes: pa.Table) -> dict[int, list[QueryPlan]]:
    """Return the versions of each query's plan, oldest version first."""
    plans: dict[int, list[QueryPlan]] = {}
    rows = _rows(plan_nodes, "sql_execution_id", "plan_version", "parent", "name", "detail")
    # The nodes of a plan are adjacent rows, sorted by node number.
    for (query_id, _), nodes in groupby(rows, lambda row: (row["sql_execution_id"], row["plan_version"])):
        plan = list(nodes)
        plans.setdefault(query_id, []).append(
            QueryPlan(
                tuple(row["name"] or "" for row in plan),
                tuple(row["parent"] for row in plan),
                tuple(row["detail"] or "" for row in plan),
            )
        )
    return plans


def _rows(table: pa.Table, *names: str) -> list[dict[str, Any]]:
    """Return some columns as mappings; if the table lacks a column, its value is None."""
    present = [name for name in names if name in table.schema.names]
    absent = dict.fromkeys(name for name in names if name not in present)
    return [{**absent, **row} for row in table.select(present).to_pylist()]
