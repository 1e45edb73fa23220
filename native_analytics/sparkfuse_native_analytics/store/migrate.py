"""Migrates a ClickHouse database to this version: applies numbered DDL files, then adds new columns of the contract.

``python -m sparkfuse_native_analytics.store.migrate [--server]``
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.settings import SettingError, Settings
from sparkfuse_contracts.tables import tables
from sparkfuse_native_analytics.store.client import StoreUnavailableError, connect
from sparkfuse_native_analytics.store.columns import (
    ENDED_STAGES,
    add_columns,
    column_list,
    column_names,
    contract_column_types,
    source_names,
)
from sparkfuse_native_analytics.store.fill_job_runs import fill_job_runs
from sparkfuse_native_analytics.store.retention import apply_retention

USAGE = 2
UNAVAILABLE = 3
_LIST_OF_PARTS = "Array(Tuple("
_NUMBERED = re.compile(r"(\d{4})_\w+\.sql")
_PLACEHOLDER = re.compile(r"\{(table|columns|names|sources|missing):(\w+)(?: AS (\w+))?\}|\{(database)\}")
# Statements that are not SQL, but a function that fills a table.
_FILLS = {"{fill:job_runs}": fill_job_runs}
_APPLIED_FILES = """
CREATE TABLE IF NOT EXISTS schema_migrations (
  file String,
  sha256 String,
  applied_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
) ENGINE = ReplacingMergeTree ORDER BY file
"""


class MigrationError(RuntimeError):
    """The store cannot be migrated; the message names the file and the reason."""


@dataclass(frozen=True)
class Migration:
    """One numbered file; ``name`` is its key in the table ``schema_migrations``."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """The hash of the file, with placeholders not replaced, so that new contract columns do not change the hash."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def statements(self, database: str) -> Iterator[str]:
        """Yield the statements of the file; placeholders are replaced by the contract's tables and columns."""
        lines = [line for line in self.text.splitlines() if not line.lstrip().startswith("--")]
        for statement in "\n".join(lines).split(";\n"):
            written = _PLACEHOLDER.sub(lambda found: _written(found, database), statement).strip().rstrip(";")
            if written:
                yield written


def migrations(server: bool = False) -> tuple[Migration, ...]:
    """Return the numbered files in order; if ``server`` is true, the files that a server's administrator applies."""
    folder = asset("sparkfuse_native_analytics", "schema", *(["server"] if server else []))
    files = sorted(path for path in folder.iterdir() if _NUMBERED.fullmatch(path.name))
    return tuple(Migration(_name(path, server), path.read_text()) for path in files)


def migrate(client: Client, settings: Settings | None = None, *, server: bool = False) -> list[str]:
    """Apply new files and add new columns of the contract; return the names of the files and columns.

    If ``settings`` are given, the tables keep their rows for as long as the settings say; this is a line for each table
    that is changed.

    Raises MigrationError if a file was changed after it was applied, or if the store rejects a statement.
    """
    # A numbered file can copy a table, so columns are widened first.
    widened = [] if server else _widen_columns(client)
    done = widened + _run(client, migrations(server))
    if server:
        return done
    done += _add_columns(client)
    return done if settings is None else done + _retain(client, settings)


def _run(client: Client, wanted: tuple[Migration, ...]) -> list[str]:
    _command(client, _APPLIED_FILES, "the table of applied files")
    applied_before = dict(client.query("SELECT file, sha256 FROM schema_migrations FINAL").result_rows)
    database = str(client.command("SELECT currentDatabase()"))
    applied = []
    for migration in wanted:
        known = applied_before.get(migration.name)
        if known not in (None, migration.sha256):
            raise MigrationError(f"{migration.name} was changed after it was applied: add a new file instead")
        if known is None:
            for statement in migration.statements(database):
                _command(client, statement, migration.name)
            client.insert("schema_migrations", [[migration.name, migration.sha256]], column_names=["file", "sha256"])
            applied.append(migration.name)
    return applied


def _retain(client: Client, settings: Settings) -> list[str]:
    try:
        return apply_retention(client, settings)
    except ClickHouseError as error:
        raise MigrationError(f"the store rejects the time for which rows are kept: {_reason(error)}") from error


def _add_columns(client: Client) -> list[str]:
    known = client.query("SELECT table, groupArray(name) FROM system.columns WHERE database = currentDatabase() "
                         "GROUP BY table").result_rows  # fmt: skip
    added = []
    for table, names in known:
        for name, type_name in contract_column_types(table).items():
            if name not in names:
                _command(client, f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS `{name}` {type_name}", name)
                added.append(f"{table}.{name}")
    return added


def _widen_columns(client: Client) -> list[str]:
    """Add new fields of the contract to columns of nested tuples; ClickHouse matches existing fields by name."""
    known = client.query("SELECT table, name, type FROM system.columns WHERE database = currentDatabase() "
                         f"AND startsWith(type, '{_LIST_OF_PARTS}')").result_rows  # fmt: skip
    widened = []
    for table, name, type_name in known:
        wanted = contract_column_types(table).get(name, type_name)
        # Spaces are ignored, because the engine formats types with different line breaks.
        if "".join(wanted.split()) != "".join(type_name.split()):
            _command(client, f"ALTER TABLE {table} MODIFY COLUMN `{name}` {wanted}", name)
            widened.append(f"{table}.{name}")
    return widened


def _command(client: Client, statement: str, what: str) -> None:
    try:
        if statement in _FILLS:
            _FILLS[statement](client)
        else:
            client.command(statement)
    except ClickHouseError as error:
        raise MigrationError(f"the store rejects {what}: {_reason(error)}") from error


def _reason(error: ClickHouseError) -> str:
    return " ".join(str(error).split())[:400]


def _written(found: re.Match[str], database: str) -> str:
    kind, table, new_name, _ = found.groups()
    if kind == "table":
        ddl = _ddl(table).strip().rstrip(";")
        return ddl.replace(f"EXISTS {table} (", f"EXISTS {new_name} (", 1) if new_name else ddl
    written = {"names": column_names, "sources": source_names, "missing": add_columns, "columns": column_list}
    return written[kind](table) if kind else f"`{database}`"


def _ddl(table: str) -> str:
    """Return a table's DDL; a retired table's DDL is kept as a file, because applied migrations never change."""
    if table in tables():
        return tables()[table].ddl
    return asset("sparkfuse_native_analytics", "schema", "retired", f"{table}.sql").read_text()


def _name(path: Path, server: bool) -> str:
    return f"server/{path.name}" if server else path.name


def main(arguments: list[str] | None = None) -> int:
    """Migrate the database at SPARKFUSE_CLICKHOUSE_URL; exit code 2 for invalid settings, 3 after a failure."""
    parser = argparse.ArgumentParser(prog="sparkfuse-migrate", description="Create or change the tables of the store.")
    parser.add_argument(
        "--server", action="store_true", help="also create roles, a profile and a quota; needs an administrator"
    )
    options = parser.parse_args(arguments)
    try:
        settings = Settings.from_environment()
        done = migrate(connect(settings), settings, server=options.server)
    except (SettingError, StoreUnavailableError, MigrationError) as error:
        print(f"sparkfuse migrate: {error}", file=sys.stderr)
        return USAGE if isinstance(error, SettingError) else UNAVAILABLE
    print("\n".join(done) if done else f"nothing to do: {ENDED_STAGES} and the tables of the contract are up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
