"""Stores the SQL executions of a run, the versions of their physical plans, and the columns about their operators."""

from __future__ import annotations

import logging
import zlib
from dataclasses import replace
from typing import Any

from sparkfuse_contracts.generated.fact_pb2 import SqlMetrics, SqlPlan, SqlStarted
from sparkfuse_contracts.generated.live_pb2 import QueryLive
from sparkfuse_rules.knowledge.measured_plan import METRICS, PlanMetric
from sparkfuse_rules.knowledge.query_operators import operator_columns
from sparkfuse_rules.knowledge.query_plan import QueryPlan
from sparkfuse_stream_jobs.detect.state.codec import Codec
from sparkfuse_stream_jobs.detect.state.run_state import (
    QueryState,
    RunState,
    add_count,
    application_of,
    oldest_unused,
)

# Maximum numbers per application: queries of the last week (retention.py), and plan versions stored at the same time.
# Beyond the first number, the oldest queries without a running job are dropped.
MAX_QUERIES, MAX_PLANS = 10_000, 1_000
# Maximum number of stored versions of one query's plan; the newest are kept. Adaptive execution adds a version when a
# stage ends.
MAX_VERSIONS = 32
# The plans of the last ended queries are kept, because a stage may start or report after the end of its query.
KEPT_QUERIES = 16
MAX_TEXT = 4_096
# Errors that an unexpected plan may cause; its query then has no columns about operators.
_UNREADABLE = (ArithmeticError, LookupError, RecursionError, TypeError, ValueError, zlib.error)
log = logging.getLogger(__name__)


def add_query(started: SqlStarted, state: RunState) -> None:
    """Store a SQL execution that started.

    If its plan arrived before it, the query is named again, because the name may come from the description.
    """
    query = replace(
        query_of(started.sql_execution_id, state) or QueryState(),
        nodes=tuple(started.plan_nodes),
        description=started.description[:MAX_TEXT],
        call_site=started.call_site[:MAX_TEXT],
        started_ms=started.started_ms if started.HasField("started_ms") else None,
        root_id=started.root_execution_id if started.HasField("root_execution_id") else None,
        named_version=None,
    )
    put_query(started.sql_execution_id, query, state)


def query_of(query_id: int | None, state: RunState) -> QueryState | None:
    """Return the query, if it is stored."""
    return None if query_id is None else state.queries.get(str(query_id))


def put_query(query_id: int, query: QueryState, state: RunState) -> bool:
    """Store a query and return True, unless it is new and ``MAX_QUERIES`` queries have running jobs."""
    if query_of(query_id, state) is None:
        if application_of(state).plans >= MAX_QUERIES:
            _drop_oldest(state)
        application = application_of(state)
        if application.plans >= MAX_QUERIES:
            return False
        newest = max(application.newest_query, query_id)
        state.application.update(replace(application, plans=application.plans + 1, newest_query=newest))
    state.queries.put(str(query_id), query)
    return True


def add_plan(plan: SqlPlan, state: RunState) -> bool:
    """Store a version of a query's plan; return False for an old version, or if the query itself cannot be stored."""
    query_id, version = plan.sql_execution_id, plan.plan_version
    query = query_of(query_id, state) or QueryState()
    if query.plan_versions and version <= query.plan_versions[-1]:
        return False
    versions = (*query.plan_versions, version)
    if not put_query(query_id, replace(query, plan_versions=versions[-MAX_VERSIONS:]), state):
        return False
    for outdated in versions[:-MAX_VERSIONS]:
        _drop_version(query_id, outdated, state)
    if application_of(state).stored_plans >= MAX_PLANS:
        drop_plans(min(int(name.partition("/")[0]) for name in state.sql_plans.keys()), state)  # noqa: SIM118 - no dict
    add_count(state, "stored_plans", 1)
    decoded = QueryPlan(tuple(plan.node_names), tuple(plan.node_parents), tuple(plan.node_details))
    state.sql_plans.put(_name(query_id, version), _encode(plan))
    state.plan_cache.put(application_of(state).run_key, query_id, version, decoded)
    return True


def plans_of(query_id: int | None, state: RunState) -> tuple[QueryPlan, ...]:
    """Return the stored versions of the query's plan, oldest first."""
    query = query_of(query_id, state)
    if query_id is None or query is None:
        return ()
    plans = (_plan(query_id, version, state) for version in query.plan_versions)
    return tuple(plan for plan in plans if plan)


def add_metrics(metrics: SqlMetrics, state: RunState) -> None:
    """Store the columns about the operators of a query, from its newest plan and the last values of its metrics."""
    query_id = metrics.sql_execution_id
    query = query_of(query_id, state)
    content = state.sql_plans.get(_name(query_id, query.plan_versions[-1])) if query and query.plan_versions else None
    if query is None or content is None:
        return
    try:
        message = SqlPlan.FromString(zlib.decompress(content))
        plan = QueryPlan(tuple(message.node_names), tuple(message.node_parents), tuple(message.node_details))
        names = (PlanMetric(each.node, each.accumulator_id, each.name) for each in message.metrics)
        values = dict(zip(metrics.accumulator_ids, metrics.values, strict=False))
        columns: dict[str, Any] = dict(operator_columns(plan, names, values))
        operators = QueryLive(**columns).SerializeToString()
    except _UNREADABLE as error:
        log.warning("cannot read the metrics of query %d of %s: %r", query_id, application_of(state).run_key, error)
        return
    if operators != query.operators:
        put_query(query_id, replace(query, operators=operators), state)


def fill_operators(columns: QueryLive, state: RunState) -> None:
    """Add the columns about the operators of a query to its row."""
    query = query_of(columns.query_id, state)
    if query and query.operators:
        columns.MergeFromString(query.operators)


def end_query(query_id: int, state: RunState) -> None:
    """Record the end of a query, and drop the plans of the query that ended ``KEPT_QUERIES`` queries earlier."""
    application = application_of(state)
    if query_id in application.ended_queries:
        return
    ended = (*application.ended_queries, query_id)
    state.application.update(replace(application, ended_queries=ended[-KEPT_QUERIES:]))
    for each in ended[:-KEPT_QUERIES]:
        drop_plans(each, state)


def drop_plans(query_id: int, state: RunState) -> None:
    """Remove all versions of a query's plan, but keep the newest number, so that no name is computed again."""
    query = query_of(query_id, state)
    for version in query.plan_versions if query else ():
        _drop_version(query_id, version, state)


def plan_codec() -> Codec[bytes]:
    """Return the codec of plans, which are already encoded and stored unchanged."""
    return Codec(bytes, bytes)


def used_queries(state: RunState) -> set[int | None]:
    """Return the queries of the running jobs, and the queries that started these queries."""
    used = {job.sql_execution_id for _, job in state.jobs.items()}
    return used | {query.root_id for each in used if (query := query_of(each, state))}


def _drop_oldest(state: RunState) -> None:
    """Drop the oldest queries that no running job uses, so that a stream or a server always has its newest queries."""
    dropped = oldest_unused(state.queries.keys(), used_queries(state), MAX_QUERIES)
    for query_id in dropped:
        drop_plans(query_id, state)
        state.queries.remove(str(query_id))
    add_count(state, "plans", -len(dropped))


def _drop_version(query_id: int, version: int, state: RunState) -> None:
    name = _name(query_id, version)
    if state.sql_plans.get(name) is not None:
        state.sql_plans.remove(name)
        add_count(state, "stored_plans", -1)
    state.plan_cache.remove(application_of(state).run_key, query_id, version)


def _plan(query_id: int, version: int, state: RunState) -> QueryPlan | None:
    run_key = application_of(state).run_key
    if plan := state.plan_cache.get(run_key, query_id, version):
        return plan
    content = state.sql_plans.get(_name(query_id, version))
    if content is None:
        return None
    message = SqlPlan.FromString(zlib.decompress(content))
    plan = QueryPlan(tuple(message.node_names), tuple(message.node_parents), tuple(message.node_details))
    state.plan_cache.put(run_key, query_id, version, plan)
    return plan


def _name(query_id: int, version: int) -> str:
    return f"{query_id}/{version}"


def _encode(plan: SqlPlan) -> bytes:
    """Encode a plan with only those metrics that the columns about operators need."""
    copy = SqlPlan(
        node_names=plan.node_names,
        node_parents=plan.node_parents,
        node_details=plan.node_details,
        metrics=[metric for metric in plan.metrics if metric.name in METRICS],
    )
    return zlib.compress(copy.SerializeToString(), 1)
