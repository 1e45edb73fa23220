"""Derives the rows of further tables from a batch: ended stages, applications, executors of hosts, current findings.

Derived tables keep the newest row of each key, so that a batch that is stored again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkfuse_native_analytics.loader.finding_hosts import finding_hosts
from sparkfuse_native_analytics.loader.job_runs import logged_runs, started_runs
from sparkfuse_native_analytics.store.columns import (
    APPLICATION_KINDS,
    APPLICATION_ROWS,
    CURRENT_FINDINGS,
    ENDED_STAGES,
    FINDING_RUNS,
    HOST_EXECUTORS,
    HOST_KINDS,
    LOGGED,
    LOGGED_STAGES,
    STAGE,
    application_row_columns,
    contract_column_types,
    ended_stage_columns,
    logged_application_columns,
    logged_stage_columns,
)

RUNNING = "running"
Derived = tuple[str, pa.Table]


def ended_stages(live: pa.Table) -> Derived:
    """Return the rows of stages that have ended."""
    if f"{STAGE}_status" not in live.column_names:
        return ENDED_STAGES, live.slice(0, 0)
    ended = pc.and_(pc.equal(live["row"], STAGE), pc.not_equal(live[f"{STAGE}_status"], RUNNING))
    rows = live.filter(ended)  # a null in the mask counts as false
    return ENDED_STAGES, _renamed(rows, {name: column.name for name, column in ended_stage_columns().items()})


def logged_stages(history: pa.Table) -> Derived:
    """Return stages from event logs in the columns of ended_stages; row_seq is 0, because logs do not number rows."""
    rows = history.filter(pc.equal(history["row"], STAGE))
    return LOGGED_STAGES, _with_row_seq(_renamed(rows, logged_stage_columns()))


def application_rows(live: pa.Table) -> Derived:
    """Return the rows of applications; the store keeps the newest row of each kind."""
    rows = live.filter(_is_one_of(live["row"], APPLICATION_KINDS))
    return APPLICATION_ROWS, _renamed(rows, {name: name for name in application_row_columns()})


def logged_applications(history: pa.Table) -> Derived:
    """Return applications from event logs in the columns of application_rows."""
    rows = history.filter(pc.equal(history["row"], "application"))
    table = _with_row_seq(_renamed(rows, logged_application_columns()))
    return APPLICATION_ROWS, table.append_column("row", pa.array([LOGGED] * table.num_rows, pa.string()))


def host_executors(live: pa.Table) -> Derived:
    """Return the executors of hosts; rows that do not name the host are left out."""
    rows = live.filter(_is_one_of(live["row"], HOST_KINDS))
    host, executor_id = (_first_known(rows, name) for name in ("host", "executor_id"))
    seen = rows["window_end_ms"] if "window_end_ms" in rows.column_names else pa.nulls(rows.num_rows, pa.int64())
    table = rows.select(["app_id", "app_attempt", "app_start_ms"])
    for name, values in {
        "host": host,
        "executor_id": executor_id,
        "lost": pc.equal(rows["row"], "executor_loss"),
        "seen_ms": pc.fill_null(seen, 0),
    }.items():
        table = table.append_column(name, values)
    named = pc.and_(pc.is_valid(table["host"]), pc.is_valid(table["executor_id"]))
    return HOST_EXECUTORS, table.filter(named).combine_chunks()


def current_findings(findings: pa.Table) -> Derived:
    """Return the columns of findings by which lists are filtered and sorted; the store keeps the newest version."""
    return CURRENT_FINDINGS, _renamed(findings, {name: name for name in contract_column_types(CURRENT_FINDINGS)})


def finding_runs(findings: pa.Table) -> Derived:
    """Return the applications that each finding lists."""
    if "runs" not in findings.column_names:
        return FINDING_RUNS, findings.slice(0, 0)
    runs = findings["runs"].combine_chunks()
    of_finding = findings.select(["finding_id", "updated_ms"]).take(pc.list_parent_indices(runs))
    table = of_finding.append_column("app_id", pc.struct_field(pc.list_flatten(runs), "app_id"))
    return FINDING_RUNS, table.filter(pc.is_valid(table["app_id"])).combine_chunks()


# The tables that are derived from each table of a feed.
DERIVED: Mapping[str, tuple[Callable[[pa.Table], Derived], ...]] = {
    "live": (ended_stages, application_rows, host_executors, started_runs),
    "history": (logged_stages, logged_applications, logged_runs),
    "findings": (current_findings, finding_runs, finding_hosts),
}


def _renamed(rows: pa.Table, sources: Mapping[str, str]) -> pa.Table:
    """Return the columns that the rows have, under their new names, as one chunk."""
    there = set(rows.column_names)
    return pa.table({name: rows[source] for name, source in sources.items() if source in there}).combine_chunks()


def _with_row_seq(rows: pa.Table) -> pa.Table:
    return rows.append_column("row_seq", pa.array(np.zeros(rows.num_rows, dtype=np.int64)))


def _is_one_of(column: pa.ChunkedArray, values: tuple[str, ...]) -> pa.ChunkedArray:
    return pc.is_in(column, value_set=pa.array(values, column.type))


def _first_known(rows: pa.Table, field: str) -> pa.ChunkedArray | pa.Array:
    """Return for each row the value of a field of its kind."""
    there = [rows[name] for kind in HOST_KINDS if (name := f"{kind}_{field}") in rows.column_names]
    return pc.coalesce(*there) if there else pa.nulls(rows.num_rows, pa.string())
