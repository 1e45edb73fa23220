"""Computes the view query_live from an event log: sums over the stages of a query, and columns about its operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from sparkfuse_contracts.generated.view_rows import QueryLiveRow
from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.offline.queries import queries
from sparkfuse_native_analytics.offline.stage_rows import clamp_int64
from sparkfuse_rules.knowledge.measured_plan import METRICS, PlanMetric
from sparkfuse_rules.knowledge.query_operators import operator_columns
from sparkfuse_rules.knowledge.query_plan import QueryPlan

if TYPE_CHECKING:
    import pyarrow as pa

VIEW = "query_live"
_RUNNING = "running"
_MOST_STAGE_IDS = 256


def query_rows(application: Application) -> list[QueryLiveRow]:
    """Return the rows of query_live in the order of the queries' ids, as they are at the end of the log."""
    cpu_ns: dict[int, int] = {}
    attempts: dict[int, int] = {}
    result_bytes: dict[int, int] = {}
    columns = ["sql_execution_id", "status", "cpu_ns", "result_bytes"]
    for stage in application.tables["stages"].select(columns).to_pylist():
        query_id = stage["sql_execution_id"]
        result_bytes[query_id] = result_bytes.get(query_id, 0) + (stage["result_bytes"] or 0)
        cpu_ns[query_id] = cpu_ns.get(query_id, 0) + (stage["cpu_ns"] or 0)
        attempts[query_id] = attempts.get(query_id, 0) + (stage["status"] not in {None, _RUNNING})
    operators = _operators(application)
    rows = []
    for query in queries(application):
        query_id = query["query_id"]
        row: QueryLiveRow = {
            "query_id": query_id,
            "root_query_id": query["root_query_id"],
            "query_name": query["name"],
            "description": query["description"],
            "call_site": query["call_site"],
            "status": query["status"],
            "started_ms": query["started_ms"],
            "ended_ms": query["ended_ms"],
            "elapsed_ms": query["elapsed_ms"],
            "failure_reason": query["failure_reason"],
            "ended_stages": attempts.get(query_id, 0),
            "failed_stages": query["failed_stages"],
            "stage_ids": ",".join(map(str, query["stage_ids"][:_MOST_STAGE_IDS])),
            "finished_tasks": query["tasks"],
            "input_bytes": query["input_bytes"],
            "output_bytes": query["output_bytes"],
            "shuffle_read_bytes": query["shuffle_read_bytes"],
            "disk_spilled_bytes": query["disk_spilled_bytes"],
            "result_bytes": clamp_int64(result_bytes.get(query_id, 0)),
            "finished_cpu_ms": clamp_int64(cpu_ns.get(query_id, 0) // 1_000_000),
            "sources": query["sources"],
            "sink": query["sink"],
        }
        if query_id in operators:
            row.update(operators[query_id])
        rows.append(row)
    return rows


def _operators(application: Application) -> Mapping[int, QueryLiveRow]:
    """Return the columns about operators of each ended query: Spark reports the metrics when a query ends."""
    executions = application.tables["sql_executions"].select(["sql_execution_id", "ended_ms"]).to_pylist()
    ended = {row["sql_execution_id"] for row in executions if row["ended_ms"] is not None}
    plans = list(_final_plans(application.tables["plan_nodes"], ended))
    values = _values(application, {metric.accumulator_id for _, _, metrics in plans for metric in metrics})
    return {query_id: operator_columns(plan, metrics, values.get(query_id, {})) for query_id, plan, metrics in plans}


def _final_plans(plan_nodes: pa.Table, ended: set[int]) -> Iterator[tuple[int, QueryPlan, list[PlanMetric]]]:
    """Yield the newest plan of each ended query, with the metrics that the columns need."""
    columns = ["sql_execution_id", "plan_version", "parent", "name", "detail", "metric_ids", "metric_names"]
    if set(columns) - set(plan_nodes.schema.names):
        return
    versions = zip(plan_nodes["sql_execution_id"].to_pylist(), plan_nodes["plan_version"].to_pylist(), strict=True)
    newest: dict[int, tuple[int, int, int]] = {}
    # The nodes of a plan are adjacent rows, sorted by node number; later versions come later.
    for (query_id, version), rows in groupby(enumerate(versions), lambda row: row[1]):
        first = next(rows)[0]
        if query_id in ended and version >= newest.get(query_id, (0,))[0]:
            newest[query_id] = version, first, first + 1 + sum(1 for _ in rows)
    for query_id, (_, first, end) in newest.items():
        nodes = plan_nodes.slice(first, end - first).select(columns).to_pylist()
        plan = QueryPlan(
            tuple(node["name"] or "" for node in nodes),
            tuple(node["parent"] for node in nodes),
            tuple(node["detail"] or "" for node in nodes),
        )
        metrics = [
            PlanMetric(place, key, name)
            for place, node in enumerate(nodes)
            for key, name in zip(node["metric_ids"], node["metric_names"], strict=True)
            if key is not None and name in METRICS
        ]
        yield query_id, plan, metrics


def _values(application: Application, accumulators: set[int]) -> Mapping[int, Mapping[int, int]]:
    """Return the last values of these accumulators that the stages and the driver reported for each query.

    The plan of a cached table is part of many queries, but its values belong to the query that computed them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not accumulators:
        return {}
    columns = ["stage_id", "sql_execution_id", "accumulator_id", "value"]
    table = pa.table(application.read.batches("accumulators")).select(columns)
    rows = table.filter(pc.is_in(table["accumulator_id"], pa.array(sorted(accumulators), pa.int64())))
    values: dict[int, dict[int, int]] = {}
    for stage_id, reported, accumulator, value in zip(*(rows[name].to_pylist() for name in columns), strict=True):
        query_id = application.names.query_of(stage_id) if reported is None else reported
        if query_id is not None and value is not None:
            values.setdefault(query_id, {})[accumulator] = value
    return values
