"""Runs of jobs, and one run with its stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.select import fetch, names, select
from sparkfuse_rules.knowledge.identity import identify

RUNNING = "running"


@dataclass(frozen=True)
class Run:
    """One application attempt: times in milliseconds (since 1970 where they end in ``start_ms`` or ``ended_ms``)."""

    job_key: str
    run_key: str
    app_id: str
    app_attempt: int
    app_start_ms: int
    cluster: str | None
    tenant: str | None
    name: str | None
    user_name: str | None
    spark_version: str | None
    status: str
    ended_ms: int | None
    elapsed_ms: int | None
    running_stages: int | None
    ended_stages: int | None
    running_tasks: int | None
    finished_tasks: int | None
    failed_tasks: int | None
    disk_spilled_bytes: int | None
    completeness: float | None
    window_end_ms: int | None


@dataclass(frozen=True)
class Stage:
    """One stage attempt as its latest row has it; the fields are columns of the view stage_live."""

    stage_id: int
    stage_attempt: int
    name: str | None
    status: str | None
    num_tasks: int | None
    submitted_ms: int | None
    completed_ms: int | None
    elapsed_ms: int | None
    job_id: int | None
    sql_execution_id: int | None
    failure_reason: str | None
    finished_tasks: int | None
    failed_tasks: int | None
    killed_tasks: int | None
    running_tasks: int | None
    finished_run_ms: int | None
    finished_cpu_ms: int | None
    finished_gc_ms: int | None
    duration_p50_ms: float | None
    duration_p95_ms: float | None
    duration_max_ms: int | None
    work_bytes: int | None
    work_records: int | None
    disk_spilled_bytes: int | None
    memory_spilled_bytes: int | None
    lost_ms: int | None
    lost_share: float | None
    completeness: float | None


@dataclass(frozen=True)
class RunDetails:
    """A run and its stage attempts in the order of their ids."""

    run: Run
    stages: list[Stage]


# Not selected from the store but resolved from what the application said of itself.
_IDENTITY = ("job_key", "run_key")
_APPLICATIONS = f"""
SELECT {", ".join(name for name in names(Run).split(", ") if name not in _IDENTITY)}, properties
FROM applications
WHERE ({{app_id:String}} = '' OR app_id = {{app_id:String}}) AND app_start_ms >= {{since_ms:Int64}}
ORDER BY app_start_ms DESC, app_id, app_attempt DESC
LIMIT {{limit:UInt32}}
"""
# An ended row is the better source; a running one counts only for a stage that has not ended.
_PLACE = "app_id = {app_id:String} AND app_start_ms = {app_start_ms:Int64} AND app_attempt = {app_attempt:Int32}"


def _live_stage_column(name: str) -> str:
    if name == "completeness":
        return name
    column = f"stage_{name}"
    return f"{f'assumeNotNull({column})' if name in ('stage_id', 'stage_attempt') else column} AS {name}"


# An ended row is the better source; a running one counts only for a stage that has not ended.
_STAGES = f"""
SELECT {names(Stage)} FROM (
    SELECT {names(Stage)}, row_seq, 1 AS ended FROM best_stages WHERE {_PLACE}
    UNION ALL
    SELECT {", ".join(map(_live_stage_column, names(Stage).split(", ")))}, row_seq, 0 AS ended FROM live
    WHERE {_PLACE} AND row = 'stage'
)
ORDER BY ended DESC, row_seq DESC
LIMIT 1 BY stage_id, stage_attempt
"""


def runs(client: Client, limit: int = 50, *, job_key: str | None = None, since_ms: int = 0) -> list[Run]:
    """The latest runs, newest first; of one job, or that started at ``since_ms`` or later.

    Raises StoreEmptyError.
    """
    # A job is not a column: who an application is is resolved here, so the limit counts after the choice.
    most = limit if job_key is None else 100_000
    found = _select(client, app_id="", since_ms=since_ms, limit=most)
    return [each for each in found if job_key in (None, each.job_key)][:limit]


def run(client: Client, app_id: str) -> RunDetails | None:
    """The latest attempt of the application with its stages, or None when the store does not know it.

    Raises StoreEmptyError.
    """
    found = _select(client, app_id=app_id, since_ms=0, limit=1)
    if not found:
        return None
    place = {"app_id": app_id, "app_start_ms": found[0].app_start_ms, "app_attempt": found[0].app_attempt}
    stages = select(client, Stage, _STAGES, place)
    return RunDetails(found[0], sorted(stages, key=lambda stage: (stage.stage_id, stage.stage_attempt)))


def _select(client: Client, *, app_id: str, since_ms: int, limit: int) -> list[Run]:
    rows = fetch(client, _APPLICATIONS, {"app_id": app_id, "since_ms": since_ms, "limit": limit})
    return [_with_identity(row) for row in rows]


def _with_identity(row: dict[str, object]) -> Run:
    properties = row.pop("properties")
    assert isinstance(properties, Mapping)
    place = (row["app_id"], row["app_attempt"], row["app_start_ms"])
    identity = identify(properties, row["name"], *place, row["user_name"])  # type: ignore[arg-type]
    return Run(job_key=identity.job_key, run_key=identity.run_key, **row)  # type: ignore[arg-type]
