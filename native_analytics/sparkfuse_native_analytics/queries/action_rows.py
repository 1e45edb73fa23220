"""Actions of the fuse, from the audit log."""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.select import names, select


@dataclass(frozen=True)
class Action:
    """One action of the fuse controller or receipt of a hook; ``at_ms`` is in ms since the epoch."""

    action_id: str
    signal_id: str | None
    finding_id: str | None
    actor: str | None
    cluster: str | None
    app_id: str
    app_attempt: int | None
    app_start_ms: int | None
    rule: str | None
    action: str | None
    mode: str | None
    outcome: str | None
    reason: str | None
    stage_id: int | None
    stage_attempt: int | None
    killed_tasks: int | None
    at_ms: int
    observed: dict[str, str]


_ACTIONS = f"""
SELECT {names(Action)} FROM actions FINAL
WHERE ({{app_id:String}} = '' OR app_id = {{app_id:String}}) AND at_ms >= {{since_ms:Int64}}
ORDER BY at_ms DESC, action_id
LIMIT {{limit:UInt32}}
"""


def actions(client: Client, limit: int = 50, *, app_id: str | None = None, since_ms: int = 0) -> list[Action]:
    """Return the latest actions, newest first; optionally of one application, or from ``since_ms`` on.

    Raises StoreEmptyError.
    """
    return select(client, Action, _ACTIONS, {"app_id": app_id or "", "since_ms": since_ms, "limit": limit})
