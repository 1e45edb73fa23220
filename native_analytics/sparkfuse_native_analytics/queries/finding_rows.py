"""Reads the latest version of each finding."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.select import fetch, names, select


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
    precision_target: float | None = None


SEVERITIES = ("critical", "warning", "info")
# The latest version of each finding, from a small table; the versions that are returned are read by their key.
_CURRENT = """
SELECT finding_id, updated_ms AS latest_ms, tuple(state, severity, job_key, team, started_ms) AS latest,
       indexOf(['critical', 'warning', 'info'], ifNull(latest.2, '')) AS place,
       if(place = 0, 4, place) AS rank, -ifNull(latest.5, 0) AS minus_started_ms
FROM current_findings FINAL
WHERE {versions}
"""
# The latest version of each finding that names a host or an application; a newer version may not name it.
_LATEST = """
SELECT finding_id, max(updated_ms) AS latest_ms,
       argMax(tuple(state, severity, job_key, team, started_ms), updated_ms) AS latest,
       indexOf(['critical', 'warning', 'info'], ifNull(latest.2, '')) AS place,
       if(place = 0, 4, place) AS rank, -ifNull(latest.5, 0) AS minus_started_ms
FROM findings
WHERE {versions}
GROUP BY finding_id
"""
_FINDINGS = f"""
WITH chosen AS (
    SELECT finding_id, latest_ms FROM ({{latest}})
    WHERE {{chosen}}
    ORDER BY {{order}}
    LIMIT {{{{limit:UInt32}}}}
)
SELECT {names(Finding)} FROM findings FINAL
WHERE (updated_ms, finding_id) IN (SELECT latest_ms, finding_id FROM chosen)
"""
_AFTER = """ AND (rank, minus_started_ms, finding_id)
    > ({rank:Int32}, {minus_started_ms:Int64}, {after_id:String})"""
_COUNTS = """
SELECT ifNull(latest.2, '') AS severity, ifNull(latest.4, '') AS team, count() AS findings FROM ({latest})
WHERE {chosen}
GROUP BY severity, team
ORDER BY severity, team
LIMIT 10000
"""
_VERSIONS = {
    "finding_id": "finding_id = {finding_id:String}",
    "job_key": "ifNull(job_key, '') = {job_key:String}",
    "since_ms": "updated_ms >= {since_ms:Int64}",
    "app_id": """(updated_ms, finding_id) IN (
        SELECT updated_ms, finding_id FROM finding_runs FINAL WHERE app_id = {app_id:String})""",
    "host": """(updated_ms, finding_id) IN (
        SELECT updated_ms, finding_id FROM finding_hosts FINAL WHERE host = {host:String})""",
}
_CHOSEN = {
    "state": "latest.1 = {state:String}",
    "severity": "latest.2 = {severity:String}",
    "job_text": "positionCaseInsensitiveUTF8(ifNull(latest.3, ''), {job_text:String}) > 0",
    "team": "latest.4 = {team:String}",
}


@dataclass(frozen=True)
class FindingFilter:
    """Which findings are wanted; an empty string or 0 does not restrict them.

    ``app_id`` selects the latest version that lists a run of the application, because a later run replaces it. ``host``
    selects findings whose evidence or description names the host. ``job_text`` is a part of the job key.
    ``since_ms`` is the earliest time of the last update, in ms since the epoch.
    """

    state: str = ""
    severity: str = ""
    team: str = ""
    job_key: str = ""
    job_text: str = ""
    app_id: str = ""
    host: str = ""
    finding_id: str = ""
    since_ms: int = 0


@dataclass(frozen=True)
class FindingCount:
    """The number of findings of one severity and one team."""

    severity: str
    team: str
    findings: int


@dataclass(frozen=True)
class FindingPlace:
    """The place of a finding in the list of the most severe findings, from which the next page starts."""

    rank: int
    started_ms: int
    finding_id: str

    @classmethod
    def of(cls, finding: Finding) -> FindingPlace:
        """Return the place of a finding."""
        severity = finding.severity or ""
        rank = SEVERITIES.index(severity) + 1 if severity in SEVERITIES else len(SEVERITIES) + 1
        return cls(rank, finding.started_ms or 0, finding.finding_id)


def findings(
    client: Client, limit: int = 50, *, state: str | None = None, job_key: str | None = None, app_id: str | None = None
) -> list[Finding]:
    """Return the latest findings, newest first; optionally only those of one state, one job or one application.

    Raises StoreEmptyError.
    """
    return latest_findings(client, FindingFilter(state=state or "", job_key=job_key or "", app_id=app_id or ""), limit)


def latest_findings(client: Client, wanted: FindingFilter, limit: int) -> list[Finding]:
    """Return the findings that were updated last, newest first.

    Raises StoreEmptyError.
    """
    found = _select(client, wanted, "latest_ms DESC, finding_id", {"limit": limit})
    return sorted(found, key=lambda each: (-each.updated_ms, each.finding_id))


def severest_findings(
    client: Client, wanted: FindingFilter, limit: int, after: FindingPlace | None = None
) -> list[Finding]:
    """Return findings, the most severe first, then the newest; with ``after``, those that follow this place.

    Raises StoreEmptyError.
    """
    place: dict[str, object] = {}
    if after:
        place = {"rank": after.rank, "minus_started_ms": -after.started_ms, "after_id": after.finding_id}
    found = _select(client, wanted, "rank, minus_started_ms, finding_id", {"limit": limit, **place})
    ordered = sorted(found, key=lambda each: each.finding_id)
    return sorted(ordered, key=lambda each: (FindingPlace.of(each).rank, -(each.started_ms or 0)))


def finding(client: Client, finding_id: str) -> Finding | None:
    """Return the latest version of a finding; None if the store has no finding of this id.

    Raises StoreEmptyError.
    """
    found = _select(client, FindingFilter(finding_id=finding_id), "finding_id", {"limit": 1}) if finding_id else []
    return found[0] if found else None


def count_findings(client: Client, wanted: FindingFilter) -> list[FindingCount]:
    """Return the number of findings for each severity and team.

    Raises StoreEmptyError.
    """
    latest, chosen, values = _conditions(wanted)
    return select(client, FindingCount, _COUNTS.format(latest=latest, chosen=chosen), values)


def _select(client: Client, wanted: FindingFilter, order: str, values: dict[str, object]) -> list[Finding]:
    latest, chosen, chosen_values = _conditions(wanted)
    if "rank" in values:
        chosen += _AFTER
    sql = _FINDINGS.format(latest=latest, chosen=chosen, order=order)
    return [_finding(row) for row in fetch(client, sql, {**chosen_values, **values})]


def _conditions(wanted: FindingFilter) -> tuple[str, str, dict[str, object]]:
    """Return the statement of the latest versions, the condition on them, and the parameters that both use."""
    values = {name: value for name, value in dataclasses.asdict(wanted).items() if value}
    versions = [f"({sql})" for name, sql in _VERSIONS.items() if name in values]
    chosen = [sql for name, sql in _CHOSEN.items() if name in values]
    latest = _LATEST if wanted.app_id or wanted.host else _CURRENT
    return latest.format(versions=" AND ".join(versions) or "1"), " AND ".join(chosen) or "1", values


def _finding(row: dict[str, Any]) -> Finding:
    runs = [FindingRun(**each) for each in row.pop("runs")]
    return Finding(runs=runs, **row)
