"""Reads the latest version of each finding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.select import fetch, names


@dataclass(frozen=True)
class FindingRun:
    """One run of the job in which the finding is firing or was recently resolved."""

    run_key: str | None = None
    app_id: str | None = None
    app_attempt: int | None = None
    app_start_ms: int | None = None
    stage_id: int | None = None
    stage_attempt: int | None = None
    task_id: int | None = None
    executor_id: str | None = None
    state: str | None = None
    severity: str | None = None
    started_ms: int | None = None
    resolved_ms: int | None = None
    evidence: dict[str, str] = field(default_factory=dict)
    query_id: int | None = None
    stage_name: str | None = None
    cost: float | None = None
    cost_avoidable: float | None = None


@dataclass(frozen=True)
class Finding:
    """The latest version of one finding; times are ms since the epoch."""

    finding_id: str
    rule: str | None
    severity: str | None
    state: str | None
    job_key: str | None
    scope: str | None
    summary: str | None
    description: str | None
    runbook_url: str | None
    cluster: str | None
    tenant: str | None
    started_ms: int | None
    updated_ms: int
    resolved_ms: int | None
    evidence_ms: int | None
    completeness: float | None
    owner: str | None
    team: str | None
    currency: str | None
    runs: list[FindingRun]


_FINDINGS = f"""
SELECT {names(Finding)} FROM (
    SELECT {names(Finding)} FROM findings FINAL ORDER BY updated_ms DESC LIMIT 1 BY finding_id
)
WHERE ({{state:String}} = '' OR state = {{state:String}})
  AND ({{job_key:String}} = '' OR job_key = {{job_key:String}})
  AND ({{app_id:String}} = '' OR arrayExists(each -> each.app_id = {{app_id:String}}, runs))
ORDER BY updated_ms DESC, finding_id
LIMIT {{limit:UInt32}}
"""


def findings(
    client: Client, limit: int = 50, *, state: str | None = None, job_key: str | None = None, app_id: str | None = None
) -> list[Finding]:
    """Return the latest findings, newest first; optionally only those of one state, one job or one application.

    Raises StoreEmptyError.
    """
    chosen = {"state": state or "", "job_key": job_key or "", "app_id": app_id or "", "limit": limit}
    return [_finding(row) for row in fetch(client, _FINDINGS, chosen)]


def _finding(row: dict[str, Any]) -> Finding:
    runs = [FindingRun(**each) for each in row.pop("runs")]
    return Finding(runs=runs, **row)
