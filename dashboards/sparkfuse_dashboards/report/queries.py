"""Prepares the queries with their stages for the page's section after the findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sparkfuse_dashboards.report.limits import MAX_QUERIES, MAX_QUERY_STAGES
from sparkfuse_dashboards.report.stages import by_costs, cost_ms, elapsed_ms, label, stage_name, work_bytes
from sparkfuse_dashboards.report.text import clean, count, number, share, size, span, whole


def shown_queries(analysis: Mapping[str, Any]) -> dict[str, Any]:
    """Return the queries, the most expensive first, each with its most expensive stages."""
    queries = list(analysis.get("queries") or ())
    stages = list(analysis.get("stages") or ())
    total = sum(cost_ms(stage) for stage in stages)
    of_query: dict[int, list[Mapping[str, Any]]] = {}
    for stage in stages:
        if number(stage.get("sql_execution_id")) is not None:
            of_query.setdefault(whole(stage["sql_execution_id"]), []).append(stage)
    costs = {
        whole(query.get("query_id")): sum(cost_ms(each) for each in of_query.get(whole(query.get("query_id")), ()))
        for query in queries
    }
    ordered = sorted(queries, key=lambda each: (-costs[whole(each.get("query_id"))], whole(each.get("query_id"))))
    return {
        "shown": [
            _query(query, of_query.get(whole(query.get("query_id")), []), costs[whole(query.get("query_id"))], total)
            for query in ordered[:MAX_QUERIES]
        ],
        "total": len(queries),
        "left_out": max(len(ordered) - MAX_QUERIES, 0),
    }


def _query(query: Mapping[str, Any], stages: Sequence[Mapping[str, Any]], cost: float, total: float) -> dict[str, Any]:
    facts = [
        ("Title", clean(query.get("title"))),
        ("Description", _unless_call_site(query)),
        ("Call site", clean(query.get("call_site"))),
        ("Reads", clean(query.get("sources"))),
        ("Writes", clean(query.get("sink"))),
        ("Failure", clean(query.get("failure_reason"))),
    ]
    ordered = by_costs(stages)
    return {
        "name": clean(query.get("name")) or f"q{whole(query.get('query_id'))}",
        "status": clean(query.get("status")) or "unknown",
        "took": span(query.get("elapsed_ms")),
        "share": share(cost, total),
        "facts": [(name, value) for name, value in facts if value],
        "stages": [_stage(stage, cost) for stage in ordered[:MAX_QUERY_STAGES]],
        "stages_left_out": max(len(ordered) - MAX_QUERY_STAGES, 0),
    }


def _unless_call_site(query: Mapping[str, Any]) -> str:
    """Return the user's description of the query; empty if it is a call site of Spark's own code."""
    description = clean(query.get("description"))
    _, found, place = description.partition(" at ")
    return "" if found and ":" in place else description


def _stage(stage: Mapping[str, Any], cost: float) -> tuple[str, ...]:
    failed = whole(stage.get("failed"))
    return (
        label(stage),
        stage_name(stage),
        clean(stage.get("status")) or "unknown",
        span(elapsed_ms(stage)),
        share(cost_ms(stage), cost),
        count(stage.get("tasks")) + (f" ({count(failed)} failed)" if failed else ""),
        size(work_bytes(stage)),
        size(stage.get("disk_spilled_bytes")),
    )
