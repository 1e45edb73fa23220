"""The tables of the store: their columns and their DDL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sparkfuse_contracts.assets import asset


@dataclass(frozen=True)
class TableColumn:
    """One column of a table; ``type`` is the type in ClickHouse.

    ``path`` lists the fields that lead from the message to the value; it is empty if the store fills the column.
    """

    name: str
    type: str
    path: tuple[str, ...]
    description: str
    unit: str


@dataclass(frozen=True)
class Table:
    """One table of the store, for one message; a record replaces earlier records with the same ``key``."""

    name: str
    message: str
    key: tuple[str, ...]
    columns: tuple[TableColumn, ...]

    @property
    def ddl(self) -> str:
        """The statement CREATE TABLE IF NOT EXISTS of the table, from contracts/generated/clickhouse."""
        return asset("sparkfuse_contracts", "generated", "clickhouse", f"{self.name}.sql").read_text()


@cache
def tables() -> Mapping[str, Table]:
    """Return all tables by name."""
    content = json.loads(asset("sparkfuse_contracts", "generated", "tables.json").read_text())
    return MappingProxyType({
        name: Table(name, entry["message"], tuple(entry["key"]),
                    tuple(TableColumn(**{**column, "path": tuple(column["path"])}) for column in entry["columns"]))
        for name, entry in content.items()
    })  # fmt: skip
