"""Converts a comparison to the JSON object of `sparkfuse compare --json`: contracts/documents/comparison.proto."""

from __future__ import annotations

from typing import Any

from sparkfuse_native_analytics.compare.attribution import PARTS
from sparkfuse_native_analytics.compare.comparison import Comparison, QueryPair, StagePair, plain_name
from sparkfuse_native_analytics.compare.difference_causes import CAUSES
from sparkfuse_native_analytics.compare.run import Query, Run, Stage


def document(found: Comparison, before_log: str, after_log: str) -> dict[str, Any]:
    """Return the comparison with the names of the two logs; all keys are present, and absent values are None."""
    return {
        "before": _run(found.before, before_log),
        "after": _run(found.after, after_log),
        "difference_ms": found.difference_ms,
        "causes": [{"cause": cause, "difference_ms": value, "meaning": CAUSES[cause]} for cause, value in found.causes],
        "queries": [_query_pair(each) for each in found.queries],
        "stages": [_pair(found, each) for each in found.stages],
        "outside": [
            {
                "kind": each.kind,
                "cause": each.cause,
                "before_ms": each.before_ms,
                "after_ms": each.after_ms,
                "difference_ms": each.difference_ms,
            }
            for each in found.outside
        ],
        "configuration": [
            {"key": each.key, "before": each.before, "after": each.after, "bears_on": each.bears_on}
            for each in found.configuration
        ],
        "plan": [{"name": each.name, "before": each.before, "after": each.after} for each in found.plan],
    }


def _run(run: Run, log: str) -> dict[str, Any]:
    return {
        "log": log,
        "name": run.name,
        "app_id": run.app_id,
        "started_ms": run.started_ms,
        "elapsed_ms": run.wall_ms,
        "slots": run.slots(run.started_ms, run.ended_ms),
        "limits": list(run.limits),
    }


def _pair(found: Comparison, pair: StagePair) -> dict[str, Any]:
    return {
        "fingerprint": pair.stage.fingerprint,
        "occurrence": pair.stage.occurrence,
        "name": pair.stage.spark_name,
        "stage_name": pair.stage.name,
        "before": None if pair.before is None else _stage(found.before, pair.before, pair.before_ms),
        "after": None if pair.after is None else _stage(found.after, pair.after, pair.after_ms),
        "difference_ms": pair.difference_ms,
        "parts": [
            {
                "part": each.part,
                "cause": each.cause,
                "difference_ms": each.difference_ms,
                "meaning": PARTS[each.part],
            }
            for each in pair.parts
        ],
    }


def _query_pair(pair: QueryPair) -> dict[str, Any]:
    query = pair.after or pair.before
    return {
        "name": plain_name(query.name) if query else None,
        "before": None if pair.before is None else _query(pair.before, pair.before_ms, pair.before_stages),
        "after": None if pair.after is None else _query(pair.after, pair.after_ms, pair.after_stages),
        "difference_ms": pair.difference_ms,
    }


def _query(query: Query, on_path_ms: int, stages: int) -> dict[str, Any]:
    return {
        "query_id": query.query_id,
        "name": query.name,
        "title": query.title,
        "call_site": query.call_site,
        "elapsed_ms": query.elapsed_ms,
        "on_path_ms": on_path_ms,
        "stages": stages,
    }


def _stage(run: Run, stage: Stage, on_path_ms: int) -> dict[str, Any]:
    main = stage.main
    return {
        "stage_id": stage.stage_id,
        "query_id": stage.sql_execution_id,
        "stage_name": stage.name,
        "attempts": len(stage.attempts),
        "elapsed_ms": stage.elapsed_ms,
        "on_path_ms": on_path_ms,
        "tasks": main.tasks,
        "failed": sum(each.failed for each in stage.attempts),
        "read_bytes": main.read_bytes,
        "read_records": main.read_records,
        "task_wall_ms": main.wall_ms,
        "slots": run.slots(main.launched_ms, main.finished_ms),
    }
