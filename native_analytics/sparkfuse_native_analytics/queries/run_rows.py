"""Reads the runs of jobs, or one run with its queries and stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.run_filter import RunFilter, RunPlace
from sparkfuse_native_analytics.queries.select import fetch, names, newest_first, select
from sparkfuse_rules.knowledge.identity import identify

RUNNING = "running"


@dataclass(frozen=True)
class Run:
    """One application attempt. Times are ms since the epoch, durations ms."""

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
    owner: str | None = None
    team: str | None = None


@dataclass(frozen=True)
class Stage:
    """The latest row of one stage attempt, in columns of the view stage_live.

    ``name`` is Spark's name; ``stage_name`` and ``stage_title`` are the display names, None if the store does not have
    them.
    """

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
    finished_shuffle_read_bytes: int | None
    finished_shuffle_write_bytes: int | None
    disk_spilled_bytes: int | None
    memory_spilled_bytes: int | None
    lost_ms: int | None
    lost_share: float | None
    completeness: float | None
    stage_name: str | None = None
    stage_title: str | None = None
    call_site: str | None = None
    stage_fingerprint: str | None = None


@dataclass(frozen=True)
class Query:
    """One query (SQL execution) of a run.

    Times and sums come from the latest live row of the query or from the event log. If the store has neither, the times
    and sums come from the stages of the query, and description, root_query_id and failure_reason are None.
    """

    query_id: int
    root_query_id: int | None = None
    name: str | None = None
    title: str | None = None
    description: str | None = None
    call_site: str | None = None
    status: str | None = None
    started_ms: int | None = None
    ended_ms: int | None = None
    elapsed_ms: int | None = None
    failure_reason: str | None = None
    sources: str | None = None
    sink: str | None = None
    stage_ids: tuple[int, ...] = ()
    finished_tasks: int | None = None
    running_tasks: int | None = None
    work_bytes: int | None = None
    disk_spilled_bytes: int | None = None
    finished_cpu_ms: int | None = None


@dataclass(frozen=True)
class RunDetails:
    """A run, its stage attempts by id, and its queries by id."""

    run: Run
    stages: list[Stage]
    queries: list[Query] = field(default_factory=list)


@dataclass(frozen=True)
class _Name:
    kind: str
    query_id: int | None
    stage_id: int | None
    name: str | None
    title: str | None
    sources: str | None
    sink: str | None
    call_site: str | None
    stage_fingerprint: str | None


# The following values are not columns of the store; they are computed from the properties of the application.
_IDENTITY = ("job_key", "run_key", "owner", "team")
_NAME_COLUMNS = ("stage_name", "stage_title", "call_site", "stage_fingerprint")
_APPLICATIONS = f"""
SELECT {", ".join(name for name in names(Run).split(", ") if name not in _IDENTITY)}, properties
FROM applications
WHERE app_start_ms >= {{since_ms:Int64}}
  AND ({{until_ms:Int64}} = 0 OR app_start_ms <= {{until_ms:Int64}})
  AND ({{after_id:String}} = '' OR app_start_ms <= {{after_start_ms:Int64}})
  AND ({{after_id:String}} = '' OR (app_start_ms, app_id, app_attempt)
       < ({{after_start_ms:Int64}}, {{after_id:String}}, {{after_attempt:Int32}}))
  AND (empty({{app_ids:Array(String)}}) OR app_id IN {{app_ids:Array(String)}})
  AND (empty({{starts:Array(Int64)}}) OR app_start_ms IN {{starts:Array(Int64)}})
  AND ({{status:String}} = '' OR status = {{status:String}})
  AND ({{user:String}} = '' OR user_name = {{user:String}})
  AND ({{cluster:String}} = '' OR cluster = {{cluster:String}})
  AND ({{text:String}} = '' OR positionCaseInsensitiveUTF8(concat(ifNull(name, ''), ' ', app_id), {{text:String}}) > 0)
ORDER BY app_start_ms DESC, app_id DESC, app_attempt DESC
LIMIT {{limit:UInt32}}
"""
_ATTEMPT = "app_id = {app_id:String} AND app_start_ms = {app_start_ms:Int64} AND app_attempt = {app_attempt:Int32}"
_STAGE_COLUMNS = tuple(each.name for each in dataclasses.fields(Stage) if each.name not in _NAME_COLUMNS)


def _live_stage_column(name: str) -> str:
    if name == "completeness":
        return name
    column = f"stage_{name}"
    return f"{f'assumeNotNull({column})' if name in ('stage_id', 'stage_attempt') else column} AS {name}"


# The row of an ended stage is complete, so a live row is used only for a stage that has not ended.
_STAGES = f"""
SELECT {", ".join(_STAGE_COLUMNS)} FROM (
    SELECT {", ".join(_STAGE_COLUMNS)}, row_epoch_ms, row_seq, 1 AS ended FROM best_stages WHERE {_ATTEMPT}
    UNION ALL
    SELECT {", ".join(map(_live_stage_column, _STAGE_COLUMNS))}, row_epoch_ms, row_seq, 0 AS ended FROM live
    WHERE {_ATTEMPT} AND row = 'stage'
)
ORDER BY ended DESC, row_epoch_ms DESC, row_seq DESC
LIMIT 1 BY stage_id, stage_attempt
"""
_QUERY_COLUMNS = """
    assumeNotNull(query_query_id) AS query_id, query_root_query_id AS root_query_id, query_query_name AS name,
    query_description AS description, query_call_site AS call_site, query_status AS status,
    query_started_ms AS started_ms, query_ended_ms AS ended_ms, query_elapsed_ms AS elapsed_ms,
    query_failure_reason AS failure_reason, query_sources AS sources, query_sink AS sink,
    query_finished_tasks AS finished_tasks, query_running_tasks AS running_tasks,
    ifNull(query_input_bytes, 0) + ifNull(query_shuffle_read_bytes, 0) AS work_bytes,
    query_disk_spilled_bytes AS disk_spilled_bytes, query_finished_cpu_ms AS finished_cpu_ms
"""
_OF_QUERIES = f"{_ATTEMPT} AND row = 'query' AND query_query_id IS NOT NULL"
# The order of preference is that of applications: an ended row, then the row with better evidence, then the live row.
_QUERIES = f"""
SELECT * EXCEPT (completeness, seen_live) FROM (
    SELECT {_QUERY_COLUMNS}, completeness, 1 AS seen_live FROM live WHERE {_OF_QUERIES}
    ORDER BY row_epoch_ms DESC, row_seq DESC LIMIT 1 BY query_id
    UNION ALL
    SELECT {_QUERY_COLUMNS}, completeness, 0 AS seen_live FROM history FINAL WHERE {_OF_QUERIES}
)
ORDER BY status != 'running' DESC, ifNull(completeness, 0) DESC, seen_live DESC
LIMIT 1 BY query_id
"""
_NAMES = f"SELECT {names(_Name)} FROM names FINAL WHERE {_ATTEMPT}"


def run(client: Client, app_id: str) -> RunDetails | None:
    """Return the latest attempt of the application, with its queries and stages; None if the store has no attempt.

    Raises StoreEmptyError.
    """
    found = select_runs(client, RunFilter(app_ids=(app_id,)), 1, None)
    if not found:
        return None
    attempt = {"app_id": app_id, "app_start_ms": found[0].app_start_ms, "app_attempt": found[0].app_attempt}
    known = select(client, _Name, _NAMES, attempt)
    stages = _with_names(select(client, Stage, _STAGES, attempt), known)
    return RunDetails(found[0], stages, _queries(select(client, Query, _QUERIES, attempt), stages, known))


def _with_names(stages: Sequence[Stage], known: Sequence[_Name]) -> list[Stage]:
    by_id = {each.stage_id: each for each in known if each.kind == "stage"}
    found = []
    for stage in sorted(stages, key=lambda stage: (stage.stage_id, stage.stage_attempt)):
        name = by_id.get(stage.stage_id)
        found.append(
            dataclasses.replace(
                stage,
                stage_name=name.name,
                stage_title=name.title,
                call_site=name.call_site,
                stage_fingerprint=name.stage_fingerprint,
            )
            if name
            else stage
        )
    return found


def _queries(live: Sequence[Query], stages: Sequence[Stage], known: Sequence[_Name]) -> list[Query]:
    """Combine live rows, names and stages into one entry for each query."""
    rows = {each.query_id: each for each in live}
    by_id = {each.query_id: each for each in known if each.kind == "query" and each.query_id is not None}
    of_stages: dict[int, list[Stage]] = {}
    for stage in stages:
        if stage.sql_execution_id is not None:
            of_stages.setdefault(stage.sql_execution_id, []).append(stage)
    found = []
    for query_id in sorted({*rows, *by_id, *of_stages}):
        query = rows.get(query_id) or _from_stages(query_id, of_stages.get(query_id, []))
        stage_ids = tuple(sorted({stage.stage_id for stage in of_stages.get(query_id, [])}))
        query = dataclasses.replace(query, stage_ids=stage_ids)
        if name := by_id.get(query_id):
            query = dataclasses.replace(
                query,
                name=name.name,
                title=name.title,
                sources=name.sources,
                sink=name.sink,
                call_site=query.call_site or name.call_site,
            )
        found.append(query)
    return found


def _from_stages(query_id: int, stages: Sequence[Stage]) -> Query:
    """Return a query that is known only from its stages or its name."""
    started = min((stage.submitted_ms for stage in stages if stage.submitted_ms is not None), default=None)
    ended = max((stage.completed_ms for stage in stages if stage.completed_ms is not None), default=None)
    last = {stage.stage_id: stage.status for stage in stages}  # sorted by attempt, so the last one remains
    status = None
    if last:
        status = next((each for each in (RUNNING, "failed") if each in last.values()), "succeeded")
    return Query(
        query_id,
        status=status,
        started_ms=started,
        ended_ms=None if status == RUNNING else ended,
        elapsed_ms=None if started is None or ended is None else max(0, ended - started),
        finished_tasks=_sum(stage.finished_tasks for stage in stages),
        running_tasks=_sum(stage.running_tasks for stage in stages),
        work_bytes=_sum(stage.work_bytes for stage in stages),
        disk_spilled_bytes=_sum(stage.disk_spilled_bytes for stage in stages),
        finished_cpu_ms=_sum(stage.finished_cpu_ms for stage in stages),
    )


def _sum(values: Iterable[int | None]) -> int | None:
    present = [value for value in values if value is not None]
    return sum(present) if present else None


def select_runs(
    client: Client, wanted: RunFilter, limit: int, after: RunPlace | None, starts: Sequence[int] = ()
) -> list[Run]:
    """Return the runs that the columns of the store select, newest first; ``starts`` selects times of start.

    Raises StoreEmptyError.
    """
    place = after or RunPlace(0, "", 0)
    chosen = {
        "until_ms": wanted.until_ms,
        "user": wanted.user,
        "cluster": wanted.cluster,
        "status": wanted.status,
        "text": wanted.text,
        "app_ids": list(wanted.app_ids),
        "starts": list(starts),
        "after_start_ms": place.app_start_ms,
        "after_id": place.app_id,
        "after_attempt": place.app_attempt,
        "limit": limit,
    }
    rows: list[dict[str, Any]] = []
    newest_ms = after.app_start_ms if after else wanted.until_ms or None
    for since_ms in [wanted.since_ms] if wanted.app_ids else newest_first(wanted.since_ms, newest_ms):
        rows = fetch(client, _APPLICATIONS, {**chosen, "since_ms": since_ms})
        if len(rows) == limit:
            break
    return [_with_identity(row) for row in rows]


def _with_identity(row: dict[str, Any]) -> Run:
    properties = row.pop("properties")
    attempt = (row["app_id"], row["app_attempt"], row["app_start_ms"])
    identity = identify(properties, row["name"], *attempt, row["user_name"])
    return Run(**row, **{name: getattr(identity, name) for name in _IDENTITY})
