"""The columns of the contract; the numbered DDL files contain placeholders for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkfuse_contracts.tables import TableColumn, tables

ENDED_STAGES = "ended_stages"
# The table of ended stages from event logs; it has the same columns as ``ended_stages``.
LOGGED_STAGES = "logged_stages"
# Tables that the loader derives from live, history and findings.
APPLICATION_ROWS = "application_rows"
HOST_EXECUTORS = "host_executors"
CURRENT_FINDINGS = "current_findings"
FINDING_RUNS = "finding_runs"
FINDING_HOSTS = "finding_hosts"
JOB_RUNS = "job_runs"
RUN_RESOURCES = "run_resources"
STAGE = "stage"
# The kind, in ``application_rows``, of a row from an event log.
LOGGED = "history"
LOGGED_APPLICATIONS = "logged_applications"
# The kinds of live rows from which ``application_rows`` and ``host_executors`` are derived.
APPLICATION_KINDS = ("application", "application_started", "application_ended")
HOST_KINDS = ("executor", "executor_added", "executor_loss")
# The key of an ended stage; these columns must not be NULL, because ClickHouse does not allow NULL in a key.
_ENDED_STAGES_KEY = ("app_id", "app_start_ms", "app_attempt", "stage_id", "stage_attempt", "row_seq")
_ONEOF_COLUMNS = ("view", "row")
# Columns of ``ended_stages`` that have another name in ``history``. A log has no windows, so the window end is the
# application's end.
_OF_HISTORY = {"window_end_ms": "app_ended_ms"}
_INSERTED_AT = "DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')"
_HOST_EXECUTORS = {
    "host": "String",
    "app_id": "String",
    "app_attempt": "Int32",
    "app_start_ms": "Int64",
    "executor_id": "String",
    "lost": "Bool",
    "seen_ms": "Int64",
    "inserted_at": _INSERTED_AT,
}
_FINDING_RUNS = {"app_id": "String", "finding_id": "String", "updated_ms": "Int64", "inserted_at": _INSERTED_AT}
_FINDING_HOSTS = {"host": "String", "finding_id": "String", "updated_ms": "Int64", "inserted_at": _INSERTED_AT}
_JOB_RUNS = {
    "job_key": "String",
    "app_start_ms": "Int64",
    "app_id": "String",
    "app_attempt": "Int32",
    "name": "Nullable(String)",
    "user_name": "Nullable(String)",
    "owner": "Nullable(String)",
    "team": "Nullable(String)",
    "known": "UInt8",
    "inserted_at": _INSERTED_AT,
}
_RUN_RESOURCES = {
    "app_start_ms": "Int64",
    "app_id": "String",
    "app_attempt": "Int32",
    "job_key": "String",
    "team": "String",
    "status": "String",
    "elapsed_ms": "Nullable(Int64)",
    "completeness": "Nullable(Float64)",
    "core_ms": "Nullable(Int64)",
    "memory_mib_ms": "Nullable(Int64)",
    "busy_core_ms": "Nullable(Int64)",
    "retried_core_ms": "Nullable(Int64)",
    "input_bytes": "Nullable(Int64)",
    "disk_spilled_bytes": "Nullable(Int64)",
    "executors": "UInt32",
    "inserted_at": _INSERTED_AT,
}
# Tables of the loader whose columns are not those of a table of the contract.
_OWN = {
    HOST_EXECUTORS: _HOST_EXECUTORS,
    FINDING_RUNS: _FINDING_RUNS,
    FINDING_HOSTS: _FINDING_HOSTS,
    JOB_RUNS: _JOB_RUNS,
    RUN_RESOURCES: _RUN_RESOURCES,
}
_CURRENT_FINDINGS = ("finding_id", "updated_ms", "cluster", "tenant", "rule", "severity", "state", "job_key", "team",
                     "scope", "started_ms", "resolved_ms", "inserted_at")  # fmt: skip


def ended_stage_columns() -> Mapping[str, TableColumn]:
    """Return the columns of ``ended_stages``: the envelope of ``live``, and its stage columns without their prefix."""
    columns = {}
    for column in tables()["live"].columns:
        of_stage = len(column.path) == 2 and column.path[0] == STAGE
        if of_stage:
            columns[column.path[1]] = column
        elif len(column.path) < 2 and column.name not in _ONEOF_COLUMNS:
            columns[column.name] = column
    return columns


def application_row_columns() -> Mapping[str, TableColumn]:
    """Return the columns of ``application_rows``: those columns of ``live`` that rows of an application have."""
    return {
        column.name: column
        for column in tables()["live"].columns
        if column.name != "view" and (len(column.path) < 2 or column.path[0] in APPLICATION_KINDS)
    }


def contract_column_types(table: str) -> Mapping[str, str]:
    """Return the ClickHouse type and default of each column of a table; empty for tables that Sparkfuse does not have.

    A table that the loader derives has columns of the contract's tables.
    """
    if table in {ENDED_STAGES, LOGGED_STAGES}:
        return {name: _type_of(name, column) for name, column in ended_stage_columns().items()}
    if table == APPLICATION_ROWS:
        return {name: column.type for name, column in application_row_columns().items()}
    if table == CURRENT_FINDINGS:
        return {column.name: column.type for column in tables()["findings"].columns if column.name in _CURRENT_FINDINGS}
    if table in _OWN:
        return _OWN[table]
    spec = tables().get(table)
    return {column.name: column.type for column in spec.columns} if spec else {}


def column_list(table: str) -> str:
    """Return the columns as DDL, one per line."""
    return ",\n".join(f"  `{name}` {type_name}" for name, type_name in contract_column_types(table).items())


def add_columns(table: str) -> str:
    """Return the clauses of an ALTER TABLE statement that adds those columns of the contract that the table lacks."""
    columns = contract_column_types(table).items()
    return ",\n".join(f"  ADD COLUMN IF NOT EXISTS `{name}` {type_name}" for name, type_name in columns)


def column_names(table: str) -> str:
    """Return the names of a table's columns as a list for SELECT.

    For ``LOGGED_APPLICATIONS``, these are the columns of ``application_rows`` that an event log has.
    """
    names = logged_application_columns() if table == LOGGED_APPLICATIONS else contract_column_types(table)
    return ", ".join(f"`{name}`" for name in names)


def source_names(table: str) -> str:
    """Return the columns of ``history`` that are the sources of ``column_names(table)``, in the same order."""
    sources = {LOGGED_APPLICATIONS: logged_application_columns}[table]()
    return ", ".join(f"`{source}`" for source in sources.values())


def logged_stage_columns() -> Mapping[str, str]:
    """Map each column of ``logged_stages`` to its source column in ``history``."""
    return _from_history(ended_stage_columns(), f"{STAGE}_")


def logged_application_columns() -> Mapping[str, str]:
    """Map those columns of ``application_rows`` that an event log has to their source columns in ``history``."""
    return {name: source for name, source in _from_history(application_row_columns(), "").items() if name != "row"}


def _from_history(columns: Iterable[str], prefix: str) -> Mapping[str, str]:
    there = {column.name for column in tables()["history"].columns}
    found = {}
    for name in columns:
        source = _OF_HISTORY.get(name, name if name in there else f"{prefix}{name}")
        if source in there:
            found[name] = source
    return found


def _type_of(name: str, column: TableColumn) -> str:
    if name in _ENDED_STAGES_KEY:
        return column.type.removeprefix("Nullable(").removesuffix(")") if "Nullable(" in column.type else column.type
    return column.type
