"""Reads ended runs and their stages from the store: rows from event logs if there are any, else live rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.queries.run_rows import RUNNING
from sparkfuse_native_analytics.queries.select import fetch
from sparkfuse_native_analytics.store.columns import ENDED_STAGES, LOGGED_STAGES
from sparkfuse_rules.knowledge.application_end import SUCCEEDED
from sparkfuse_rules.knowledge.training_samples import ended_well

Place = tuple[str, int, int]
# Maximum number of runs per SQL statement, because ClickHouse limits the text of a statement to 256 KiB.
RUNS_AT_ONCE = 200
_MOST_RUNS = 1_000_000
_UNKNOWN_COLUMN = "code: 47"
_APPLICATION = (
    "status", "elapsed_ms", "finished_cpu_ms", "work_bytes", "work_records", "operator_rows", "failed_jobs",
    "between_jobs_ms",
)  # fmt: skip
_STAGE = (
    "stage_id", "stage_attempt", "stage_fingerprint", "status", "elapsed_ms", "num_tasks", "succeeded_tasks",
    "finished_cpu_ms", "work_bytes", "work_records", "operator_rows_max", "disk_spilled_bytes",
)  # fmt: skip


class StoreOlderError(RuntimeError):
    """The store lacks columns that this version reads, because the store has not been migrated yet."""


@dataclass(frozen=True)
class Run:
    """One ended application attempt.

    ``row`` contains columns of app_live; ``logged`` is true if the event log was read.

    The stages of a run without a log have no fingerprint, so they have no expected duration.
    """

    place: Place
    job_key: str
    run_key: str
    ended_ms: int | None
    ended_well: bool
    completeness: float
    logged: bool
    row: Mapping[str, Any]

    @property
    def started_ms(self) -> int:
        """The start of the run in ms since the epoch."""
        return self.place[1]


def ended_runs(client: Client, job_key: str | None = None) -> list[Run]:
    """Return all ended runs in the store, or those of one job. Raises StoreEmptyError, StoreOlderError."""
    logged = list(_logged_runs(client, job_key))
    places = {run.place for run in logged}
    return logged + [run for run in _live_runs(client, job_key) if run.place not in places]


def stages_of(client: Client, runs: Sequence[Run]) -> dict[Place, list[dict[str, Any]]]:
    """Return the ended stage attempts of each run.

    A stage attempt contains the columns of stage_live that baselines use, and its ``completeness``. Raises
    StoreEmptyError, StoreOlderError.
    """
    found: dict[Place, list[dict[str, Any]]] = {run.place: [] for run in runs}
    for logged, some in chunks(runs):
        sql = (
            f"SELECT app_id, app_start_ms, app_attempt, ifNull(completeness, 0) AS completeness, {', '.join(_STAGE)} "
            f"FROM {stage_table(logged)} FINAL WHERE {within(run.place for run in some)}"
        )
        for row in ask(client, sql):
            place = (row.pop("app_id"), row.pop("app_start_ms"), row.pop("app_attempt"))
            found[place].append(row)
    return found


def stage_table(logged: bool) -> str:
    """Return the name of the table with the ended stages of runs that have a log, or of runs that have none."""
    return LOGGED_STAGES if logged else ENDED_STAGES


def chunks(runs: Iterable[Run], most: int = RUNS_AT_ONCE) -> Iterator[tuple[bool, Sequence[Run]]]:
    """Yield chunks of runs that all have a log or all have none, with a flag that is true if the runs have a log."""
    for logged in (True, False):
        of_origin = [run for run in runs if run.logged is logged]
        for start in range(0, len(of_origin), most):
            yield logged, of_origin[start : start + most]


def within(places: Iterable[Place]) -> str:
    """Return the SQL condition for a row that belongs to one of these runs."""
    listed = ", ".join(f"({literal(app_id)}, {start}, {attempt})" for (app_id, start, attempt) in places)
    return f"(app_id, app_start_ms, app_attempt) IN ({listed})"


def literal(text: str) -> str:
    """Return the text as a quoted ClickHouse literal, because ids come from logs, which anybody may have written."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def ask(client: Client, sql: str, parameters: Mapping[str, object] | None = None) -> list[dict[str, Any]]:
    """Return the rows of a SQL statement as dicts. Raises StoreEmptyError, StoreOlderError."""
    try:
        return fetch(client, sql, parameters or {})
    except DatabaseError as error:
        if _UNKNOWN_COLUMN in str(error).lower():
            raise StoreOlderError(
                "the store's tables are older than this version: start the loader, or run the store's migration"
            ) from error
        raise


def _logged_runs(client: Client, job_key: str | None) -> Iterator[Run]:
    columns = ", ".join(f"application_{name} AS {name}" for name in _APPLICATION)
    sql = f"""
        SELECT app_id, app_start_ms, app_attempt, job_key, run_key, app_ended_ms, ifNull(app_succeeded, 0) AS succeeded,
               ifNull(completeness, 0) AS completeness, {columns}
        FROM history FINAL
        WHERE row = 'application' AND job_key IS NOT NULL AND run_key IS NOT NULL AND app_ended_ms IS NOT NULL
          AND ({{job_key:String}} = '' OR job_key = {{job_key:String}})
    """
    for row in ask(client, sql, {"job_key": job_key or ""}):
        yield Run(
            place=(row["app_id"], row["app_start_ms"], row["app_attempt"]),
            job_key=row["job_key"],
            run_key=row["run_key"],
            ended_ms=row["app_ended_ms"],
            ended_well=bool(row["succeeded"]),
            completeness=row["completeness"],
            logged=True,
            row={name: row[name] for name in _APPLICATION},
        )


def _live_runs(client: Client, job_key: str | None) -> Iterator[Run]:
    """Yield runs from live rows: the job key comes from the run's properties, the result from its last row."""
    columns = ", ".join(f"application_{name} AS {name}" for name in _APPLICATION)
    last = f"""
        SELECT app_id, app_start_ms, app_attempt, {columns}
        FROM application_rows WHERE row = 'application'
        ORDER BY row_epoch_ms DESC, row_seq DESC LIMIT 1 BY app_id, app_start_ms, app_attempt
    """
    rows = {(row["app_id"], row["app_start_ms"], row["app_attempt"]): row for row in ask(client, last)}
    failed = _with_failed_stages(client)
    for run in queries.runs(client, _MOST_RUNS, job_key=job_key):
        place = (run.app_id, run.app_start_ms, run.app_attempt)
        if place not in rows or run.status == RUNNING or run.ended_ms is None:
            continue
        row = {name: rows[place][name] for name in _APPLICATION}
        yield Run(
            place=place,
            job_key=run.job_key,
            run_key=run.run_key,
            ended_ms=run.ended_ms,
            ended_well=run.status == SUCCEEDED and ended_well(0, int(place in failed)),
            completeness=run.completeness or 0.0,
            logged=False,
            row=row,
        )


def _with_failed_stages(client: Client) -> set[Place]:
    """Return the runs in which the last attempt of a stage failed."""
    sql = """
        SELECT DISTINCT app_id, app_start_ms, app_attempt FROM (
            SELECT app_id, app_start_ms, app_attempt, stage_id, argMax(status, stage_attempt) AS last
            FROM ended_stages FINAL GROUP BY app_id, app_start_ms, app_attempt, stage_id
        ) WHERE last = 'failed'
    """
    return {(row["app_id"], row["app_start_ms"], row["app_attempt"]) for row in ask(client, sql)}
