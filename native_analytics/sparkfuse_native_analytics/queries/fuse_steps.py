"""Reads the steps of the fuse: records of the audit log and receipts of hooks, in one list."""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.select import select


@dataclass(frozen=True)
class FuseStep:
    """One audit record of the fuse controller, or one receipt of a hook; ``at_ms`` is in ms since the epoch."""

    at_ms: int
    actor: str
    step: str
    outcome: str | None
    gate: str | None
    rule: str | None
    action: str | None
    mode: str | None
    app_id: str | None
    app_attempt: int | None
    app_start_ms: int | None
    query_id: int | None
    stage_id: int | None
    stage_attempt: int | None
    task_id: int | None
    freed_tasks: int | None
    unfreed_tasks: int | None
    reason: str | None
    signal_id: str | None
    finding_id: str | None
    observed: dict[str, str]


_SAME = "gate, rule, action, mode, app_id, app_attempt, app_start_ms, query_id, stage_id, stage_attempt, task_id"
_ENDS = "reason, signal_id, finding_id, observed"
# The table's column is meant, not the selected one, because an index on the column finds the time.
_WANTED = """({app_id:String} = '' OR app_id = {app_id:String})
      AND ({since_ms:Int64} = 0 OR %s.at_ms >= {since_ms:Int64})"""
_STEPS = f"""
SELECT * FROM (
    SELECT ifNull(at_ms, 0) AS at_ms, ifNull(actor, '') AS actor, ifNull(step, '') AS step, outcome, {_SAME},
           NULL AS freed_tasks, NULL AS unfreed_tasks, {_ENDS}
    FROM audit FINAL WHERE {_WANTED % "audit"}
    UNION ALL
    SELECT at_ms, 'hook' AS actor, ifNull(outcome, '') AS step, NULL AS outcome, {_SAME}, freed_tasks, unfreed_tasks,
           {_ENDS}
    FROM receipts FINAL WHERE {_WANTED % "receipts"}
) AS steps
ORDER BY at_ms DESC, actor, step
LIMIT {{limit:UInt32}}
"""


def fuse_steps(client: Client, limit: int = 50, *, app_id: str | None = None, since_ms: int = 0) -> list[FuseStep]:
    """Return the latest steps, newest first; optionally only those of one application, or from ``since_ms`` on.

    Raises StoreEmptyError.
    """
    return select(client, FuseStep, _STEPS, {"app_id": app_id or "", "since_ms": since_ms, "limit": limit})
