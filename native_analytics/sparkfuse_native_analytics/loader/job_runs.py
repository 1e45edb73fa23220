"""Derives the identity of each run, by which lists of runs are filtered, from the rows of applications."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkfuse_native_analytics.store.columns import JOB_RUNS
from sparkfuse_rules.knowledge.identity import identify

_KEY = ("app_id", "app_attempt", "app_start_ms")
_SCHEMA = pa.schema(
    {
        "job_key": pa.string(),
        "app_start_ms": pa.int64(),
        "app_id": pa.string(),
        "app_attempt": pa.int32(),
        "name": pa.string(),
        "user_name": pa.string(),
        "owner": pa.string(),
        "team": pa.string(),
        "known": pa.uint8(),
    }
)
# How well a row knows the run: only the start of an application has its owner and team.
OF_ROW, OF_LOG, OF_START = 0, 1, 2


def started_runs(live: pa.Table) -> tuple[str, pa.Table]:
    """Return the runs whose start the rows contain.

    If a row of an application has no name, or says that earlier facts were lost, the start of the run may be lost too;
    the run then has the identity of its name, or belongs to the job ``unnamed``.
    """
    started = _rows(live, pc.equal(live["row"], "application_started"), "application_started")
    rows = [job_run(each, dict(each["properties"] or ()), OF_START) for each in started]
    of_application = pc.equal(live["row"], "application")
    if "application_name" in live.column_names:
        lost = pc.is_null(live["application_name"])
        if "incomplete_since_ms" in live.column_names:
            lost = pc.or_(lost, pc.greater(pc.fill_null(live["incomplete_since_ms"], 0), 0))
        of_application = pc.and_(of_application, lost)
    rows += [job_run(each, {}, OF_ROW) for each in _rows(live, of_application, "application")]
    return JOB_RUNS, as_table(rows)


def logged_runs(history: pa.Table) -> tuple[str, pa.Table]:
    """Return the runs of event logs, which have been identified before they were sent."""
    rows = _rows(history, pc.equal(history["row"], "application"), "application")
    return JOB_RUNS, as_table(job_run(each, {"spark.sparkfuse.job": each["job_key"] or ""}, OF_LOG) for each in rows)


def as_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return the rows without duplicates; equal rows always give an equal table."""
    return pa.Table.from_pylist(list({tuple(row.values()): row for row in rows}.values()), schema=_SCHEMA)


def job_run(row: Mapping[str, Any], properties: Mapping[str, str], known: int) -> dict[str, Any]:
    """Return the row of a run; ``row`` has the key of the application attempt, its name and its user."""
    attempt = (row["app_id"], row["app_attempt"], row["app_start_ms"])
    identity = identify(properties, row["name"], *attempt, row["user_name"])
    return {
        "job_key": identity.job_key,
        **{name: row[name] for name in ("app_start_ms", "app_id", "app_attempt", "name", "user_name")},
        "owner": identity.owner,
        "team": identity.team,
        "known": known,
    }


def _rows(table: pa.Table, chosen: pa.ChunkedArray, kind: str) -> list[dict[str, Any]]:
    """Return the chosen rows with the columns that an identity needs; columns that the table lacks are None."""
    rows = table.filter(chosen)
    sources = {
        **{name: name for name in (*_KEY, "job_key")},
        **{name: f"{kind}_{name}" for name in ("name", "user_name", "properties")},
    }
    there = {name: rows[source].to_pylist() for name, source in sources.items() if source in rows.column_names}
    return [
        {name: there[name][number] if name in there else None for name in sources} for number in range(rows.num_rows)
    ]
