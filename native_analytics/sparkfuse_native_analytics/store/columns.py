"""The columns of the contract; the numbered DDL files contain placeholders for them."""

from __future__ import annotations

from collections.abc import Mapping

from sparkfuse_contracts.tables import TableColumn, tables

ENDED_STAGES = "ended_stages"
# The table of ended stages from event logs; it has the same columns as ``ended_stages``.
LOGGED_STAGES = "logged_stages"
STAGE = "stage"
# The key of an ended stage; these columns must not be NULL, because ClickHouse does not allow NULL in a key.
_ENDED_STAGES_KEY = ("app_id", "app_start_ms", "app_attempt", "stage_id", "stage_attempt", "row_seq")
_ONEOF_COLUMNS = ("view", "row")
# Columns of ``ended_stages`` that have another name in ``history``. A log has no windows, so the window end is the
# application's end.
_OF_HISTORY = {"window_end_ms": "app_ended_ms"}


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


def contract_column_types(table: str) -> Mapping[str, str]:
    """Return the ClickHouse type and default of each column of a table of the contract; empty for other tables."""
    if table in {ENDED_STAGES, LOGGED_STAGES}:
        return {name: _type_of(name, column) for name, column in ended_stage_columns().items()}
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
    """Return the names of a table's columns as a list for SELECT."""
    return ", ".join(f"`{name}`" for name in contract_column_types(table))


def logged_stage_columns() -> Mapping[str, str]:
    """Map each column of ``logged_stages`` to its source column in ``history``."""
    there = {column.name for column in tables()["history"].columns}
    columns = {}
    for name in ended_stage_columns():
        source = _OF_HISTORY.get(name, name if name in there else f"{STAGE}_{name}")
        if source in there:
            columns[name] = source
    return columns


def _type_of(name: str, column: TableColumn) -> str:
    if name in _ENDED_STAGES_KEY:
        return column.type.removeprefix("Nullable(").removesuffix(")") if "Nullable(" in column.type else column.type
    return column.type
