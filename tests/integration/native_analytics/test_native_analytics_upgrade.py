"""Tests that a store of the last release keeps its rows when it is migrated to this version."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.tables import tables
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.queries import FindingFilter
from sparkfuse_native_analytics.store import migrate as migrator
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.columns import column_names
from sparkfuse_native_analytics.store.migrate import migrate
from tests.bench.store_company import JOBS, MINUTE_MS, TASKS, Company, fill

LAST_RELEASE = "0012_feedback.sql"
COMPANY = Company(tasks=20 * TASKS, days=20, end_ms=time.time_ns() // 10**6 // MINUTE_MS * MINUTE_MS)
TABLES = ("facts", "live", "history", "names", "findings", "audit", "receipts", "dead_letters", "ended_stages")
_NEW_CLAUSES = re.compile(
    r",(?:\n  INDEX by_.*)+|\nPARTITION BY .*|\nSETTINGS ttl_only_drop_parts = 1| CODEC\(Delta, ZSTD\(1\)\)"
)


def _ddl_of_last_release(table: str) -> str:
    """Return a table's DDL without partitions, indexes and codecs, with the sorting key of the last release."""
    retired = () if table in tables() else ("sparkfuse_native_analytics", "schema", "retired", f"{table}.sql")
    ddl = asset(*retired).read_text() if retired else _NEW_CLAUSES.sub("", tables()[table].ddl)
    return ddl.replace("ORDER BY (updated_ms, finding_id)", "ORDER BY (finding_id, updated_ms)")


@pytest.fixture
def last_release(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Return a store of the last release with rows."""
    client = connect(settings)
    known = tuple(each for each in migrator.migrations() if each.name <= LAST_RELEASE)
    with monkeypatch.context() as patched:
        patched.setattr(migrator, "migrations", lambda server=False: known)
        patched.setattr(migrator, "_ddl", _ddl_of_last_release)
        migrate(client)
    for _ in fill(client, COMPANY, derived=False):
        pass
    return client


def _contents(client: Client) -> dict[str, tuple[int, int]]:
    """Return the number of rows of each table, and a checksum of all their columns."""
    return {
        table: client.query(
            f"SELECT count(), groupBitXor(cityHash64({column_names(table)})) FROM {table} FINAL"
        ).result_rows[0]
        for table in TABLES
    }


def _create(client: Client, table: str) -> str:
    return str(client.command(f"SHOW CREATE TABLE {table}"))


def test_store_of_the_last_release_keeps_its_rows(last_release: Client) -> None:
    """Each table keeps its rows and gets partitions; lists and pages show the same runs and findings as before."""
    before = _contents(last_release)
    runs = last_release.query("SELECT count() FROM applications").result_rows
    assert not any("PARTITION BY" in _create(last_release, table) for table in TABLES)
    done = migrate(last_release)
    newest = queries.runs(last_release, 1)[0]

    assert done[:3] == ["0013_partitions.sql", "0014_current_rows.sql", "0015_runs_and_hosts.sql"]
    assert _contents(last_release) == before
    assert all(rows > 0 for rows, _ in before.values())
    assert all("PARTITION BY" in _create(last_release, table) for table in TABLES)
    assert last_release.query("SELECT count() FROM applications").result_rows == runs
    assert newest.app_id == COMPANY.app_id(COMPANY.applications - 1)
    assert len(queries.findings(last_release, 10, app_id=newest.app_id)) == 10
    assert queries.runs_on_host(last_release, "node-7", 0, 10)
    assert queries.latest_findings(last_release, FindingFilter(host="node-7"), 10)
    assert {each.app_id for each in queries.runs(last_release, 1_000, job_key="job-7")} == {
        COMPANY.app_id(number) for number in range(7, COMPANY.applications, JOBS)
    }
    assert migrate(last_release) == []


@pytest.mark.long
def test_interrupted_migration_can_be_repeated(last_release: Client) -> None:
    """If the migration ends before its files are recorded, the next migration applies them again and loses no row."""
    before = _contents(last_release)
    migrate(last_release)
    derived = last_release.query("SELECT count() FROM application_rows FINAL").result_rows
    last_release.command("ALTER TABLE schema_migrations DELETE WHERE file >= '0013' SETTINGS mutations_sync = 2")
    migrate(last_release)

    assert _contents(last_release) == before
    assert last_release.query("SELECT count() FROM application_rows FINAL").result_rows == derived


def test_copy_interrupted_at_any_statement_loses_no_row(last_release: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the migration ends after any of the six statements that copy a table, the next migration keeps all rows."""
    before = _contents(last_release)
    for statements in range(1, 7):
        with monkeypatch.context() as patched:
            patched.setattr(migrator, "_command", _ends_after(statements))
            with pytest.raises(ConnectionError, match="ended"):
                migrate(last_release)
    migrate(last_release)

    assert _contents(last_release) == before


def _ends_after(statements: int) -> Callable[[Client, str, str], None]:
    """Return a function that runs statements, and fails after some statements of the file with partitions."""
    ran = 0
    command = migrator._command

    def run(client: Client, statement: str, what: str) -> None:
        nonlocal ran
        if what == "0013_partitions.sql":
            ran += 1
            if ran > statements:
                raise ConnectionError("the migration ended")
        command(client, statement, what)

    return run
