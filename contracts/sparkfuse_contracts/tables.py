"""The store's tables: the columns that a loader fills, and the DDL that makes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sparkfuse_contracts.assets import asset


@dataclass(frozen=True)
class TableColumn:
    """One column: ``type`` is ClickHouse's, ``path`` leads from the message to the value (empty: the store's own)."""

    name: str
    type: str
    path: tuple[str, ...]
    description: str
    unit: str


@dataclass(frozen=True)
class Table:
    """One table of the store, filled from one message; ``key`` is what makes its records one."""

    name: str
    message: str
    key: tuple[str, ...]
    columns: tuple[TableColumn, ...]

    @property
    def ddl(self) -> str:
        """CREATE TABLE IF NOT EXISTS, as contracts/generated/clickhouse has it."""
        return asset("sparkfuse_contracts", "generated", "clickhouse", f"{self.name}.sql").read_text()


@cache
def tables() -> Mapping[str, Table]:
    """All tables by name."""
    content = json.loads(asset("sparkfuse_contracts", "generated", "tables.json").read_text())
    return MappingProxyType({
        name: Table(name, entry["message"], tuple(entry["key"]),
                    tuple(TableColumn(**{**column, "path": tuple(column["path"])}) for column in entry["columns"]))
        for name, entry in content.items()
    })  # fmt: skip
