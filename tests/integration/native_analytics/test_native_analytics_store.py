"""Tests the embedded store as its clients use it, and the numbered DDL files on the real engine."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import numpy as np
import pyarrow as pa
import pytest
from clickhouse_connect import get_client
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.loader.batch import Records, make_batch
from sparkfuse_native_analytics.loader.feed import FEEDS
from sparkfuse_native_analytics.store import migrate as migrator
from sparkfuse_native_analytics.store.client import StoreUnavailableError, connect
from sparkfuse_native_analytics.store.columns import contract_column_types
from sparkfuse_native_analytics.store.migrate import Migration, MigrationError, migrate
from tests.waiting import wait_for

ROWS = pa.table({"number": pa.array(range(1000), pa.int64()), "text": ["a"] * 500 + [None] * 500})
TABLE = """
CREATE TABLE t (number Int64, text Nullable(String)) ENGINE = MergeTree ORDER BY number
SETTINGS non_replicated_deduplication_window = 10
"""


@pytest.fixture
def plain(settings: Settings) -> Client:
    """Return a client of a database with one table."""
    client = connect(settings)
    client.command(TABLE)
    return client


def run_store(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a store that is expected to exit by itself."""
    command = [sys.executable, "-m", "sparkfuse_native_analytics.store.server", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)


@pytest.mark.parametrize("compression", ["gzip", "lz4", "zstd", False])
def test_rows_round_trip_with_each_compression(plain: Client, settings: Settings, compression: str | bool) -> None:
    """Inserts and queries in the formats Native and Arrow give the same rows with each compression."""
    client = get_client(dsn=settings.clickhouse_url, compress=compression, autogenerate_session_id=False)
    client.insert("t", [[7, "ü'\\\n"], [8, None]], column_names=["number", "text"])
    client.insert_arrow("t", ROWS)

    assert client.query("SELECT * FROM t WHERE text = {x:String}", parameters={"x": "ü'\\\n"}).row_count == 1
    assert (8, None) in client.query("SELECT * FROM t").result_rows
    assert client.query_arrow("SELECT * FROM t").num_rows == 1002


def test_repeated_batch_is_stored_once(plain: Client) -> None:
    """A batch with a known token is not stored again; a batch with a new token is stored."""
    for token in ("first", "first", "first", "second"):
        plain.insert_arrow("t", ROWS, settings={"insert_deduplication_token": token})

    assert plain.command("SELECT count() FROM t") == 2000


def test_parameters_and_settings_reach_the_engine(plain: Client) -> None:
    """Parameters are bound as values, and settings apply to their own request only. Unknown settings are refused."""
    nasty = "'; DROP TABLE t; -- \\ \n\t"

    assert plain.query("SELECT {x:String}", parameters={"x": nasty}).result_rows == [(nasty,)]
    assert plain.query("SELECT getSetting('max_threads')", settings={"max_threads": 1}).result_rows == [(1,)]
    assert plain.query("SELECT getSetting('max_threads')").result_rows != [(1,)]
    with pytest.raises(DatabaseError, match="115"):
        plain.raw_query("SELECT 1", settings={"no_such_setting": 1})


def test_errors_have_clickhouse_codes(plain: Client, store_url: str) -> None:
    """A rejected statement has ClickHouse's code in the header, the message in the body and the HTTP status."""
    with pytest.raises(DatabaseError, match=r"code: 47.*nope"):
        plain.query("SELECT nope FROM t")
    with pytest.raises(HTTPError) as refused:
        urllib.request.urlopen(store_url, b"SELECT * FROM no_such_table")

    assert (refused.value.code, refused.value.headers["X-ClickHouse-Exception-Code"]) == (404, "60")


def test_requests_of_dashboards_are_answered(plain: Client, store_url: str) -> None:
    """Queries in the URL, health probes, gzipped replies and output formats work; web pages' requests are refused."""

    def get(path: str, **headers: str) -> tuple[bytes, Any]:
        with urllib.request.urlopen(urllib.request.Request(store_url + path, headers=headers)) as reply:
            return reply.read(), reply.headers

    assert get("/ping")[0] == b"Ok.\n"
    assert get("/?query=SELECT%201%20AS%20x&default_format=JSONEachRow")[0] == b'{"x":1}\n'
    long = "/?query=SELECT%20repeat('x',100000)"
    assert get(long, **{"Accept-Encoding": "gzip"})[1]["Content-Encoding"] == "gzip"
    assert b'sparkfuse_store_queries_total{outcome="ok"}' in get("/metrics/")[0]
    with pytest.raises(HTTPError, match="403"):
        get("/?query=SELECT%201", Origin="https://example.com")


def test_concurrent_clients_lose_no_row(plain: Client, settings: Settings) -> None:
    """Concurrent inserts and counts lose no row, and a slow query does not block them."""

    def insert(number: int) -> None:
        plain.insert_arrow("t", ROWS, settings={"insert_deduplication_token": str(number)})

    with ThreadPoolExecutor(6) as threads:
        slow = threads.submit(plain.command, "SELECT sleepEachRow(1.5) FROM numbers(2)")
        assert plain.command("SELECT 1") == 1
        assert not slow.done()
        list(threads.map(insert, range(20)))
        slow.result()

    assert plain.command("SELECT count() FROM t") == 20_000


def test_startup_errors_are_one_sentence(make_store: Callable[[], Any], tmp_path: Path) -> None:
    """If a path or port is in use, or the address is public, the store exits with a code and one sentence."""
    store, url = make_store()
    path = store.command[store.command.index("--path") + 1]
    port = url.rpartition(":")[2]
    for arguments, code, sentence in [
        (("--path", path, "--port", "0"), 3, "another process already owns the store at"),
        (("--path", str(tmp_path / "other"), "--port", port), 3, "cannot listen on 127.0.0.1"),
        (("--path", "/proc/nowhere", "--port", "0"), 3, "cannot write to /proc/nowhere"),
        (("--path", str(tmp_path / "other"), "--port", "0", "--host", "0.0.0.0"), 2, "--allow-remote"),
    ]:
        ended = run_store(*arguments)

        assert (ended.returncode, sentence in ended.stderr) == (code, True), ended.stderr
        assert len(ended.stderr.splitlines()) == 1


def test_acknowledged_rows_survive_a_kill(make_store: Callable[[], Any]) -> None:
    """Rows whose insert was acknowledged exist after SIGKILL and a restart; SIGTERM exits with 0."""
    store, url = make_store()
    client = connect(Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": url}))
    client.command(TABLE)
    client.insert_arrow("t", ROWS)
    settings = Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": url})
    store.kill()
    store.start()

    def count() -> object:
        try:
            return connect(settings).command("SELECT count() FROM t")
        except StoreUnavailableError:
            return None

    assert wait_for(count, 60, "the store") == 1000
    assert store.stop() == 0


def test_migrations_run_once_and_follow_the_contract(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second migration does nothing.

    A column that was added to the contract is added to the table, and a changed migration file is refused.
    """
    assert migrate(client) == []
    client.command("ALTER TABLE facts DROP COLUMN task_ended_fetch_wait_ms")
    client.command("ALTER TABLE ended_stages DROP COLUMN lost_share")
    assert sorted(migrate(client)) == ["ended_stages.lost_share", "facts.task_ended_fetch_wait_ms"]
    changed = Migration("0004_applications.sql", "SELECT 1")
    monkeypatch.setattr(migrator, "migrations", lambda server=False: (changed,))
    with pytest.raises(MigrationError, match=r"0004_applications\.sql was changed after it was applied"):
        migrate(client)


def test_nested_columns_gain_new_fields(client: Client) -> None:
    """An older store keeps its rows and accepts rows with a new nested field."""
    wanted = contract_column_types("baselines")["samples"]
    known, _, added = wanted.partition(", operator_rows ")
    before = f"{known}))"
    client.command(f"ALTER TABLE baselines MODIFY COLUMN samples {before}")
    client.command("INSERT INTO baselines (job_key, stage_fingerprint, samples) VALUES "
                   "('orders', 'before', [('run', 1, 60000, 9000, NULL, NULL, 8, false)])")  # fmt: skip
    migrated = migrate(client)
    others = ", NULL" * (added.count(", ") - 2)
    client.command(
        "INSERT INTO baselines (job_key, stage_fingerprint, samples) VALUES "
        f"('orders', 'since', [('run', 1, 60000, 9000, NULL, NULL, 8, false, 500, 700, 90{others})])"
    )
    found = {each.stage_fingerprint: each.samples[0] for each in queries.baselines(client)}

    assert (before != wanted, migrated, migrate(client)) == (True, ["baselines.samples"], [])
    values = {name: (each.wall_ms, each.operator_rows, each.disk_spilled_bytes) for name, each in found.items()}
    assert values == {"before": (60_000, None, None), "since": (60_000, 500, 90)}


def test_tables_have_the_contracts_columns(client: Client) -> None:
    """Each table has the columns of the contract with their types, and no others."""
    for table in (*(feed.table for feed in FEEDS), "ended_stages"):
        there = {row["name"]: row["type"] for row in client.query(f"DESCRIBE TABLE {table}").named_results()}
        wanted = {name: kind.partition(" DEFAULT ")[0] for name, kind in contract_column_types(table).items()}

        assert spaceless(there) == spaceless(wanted)


def spaceless(types: dict[str, str]) -> dict[str, str]:
    """Return the types without spaces, because the engine formats long types with line breaks."""
    return {name: "".join(kind.split()) for name, kind in types.items()}


def test_statements_for_servers_parse(client: Client) -> None:
    """Statements that only a server can run are valid for the engine's parser."""
    statements = [each for file in migrator.migrations(server=True) for each in file.statements("sparkfuse")]

    assert statements
    for statement in statements:
        assert client.raw_query(f"EXPLAIN AST {statement}")


def test_unreachable_store_is_named_without_password() -> None:
    """If the store cannot be reached, the error names its address without the password."""
    settings = Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": "http://ann:secret@127.0.0.1:1"})
    with pytest.raises(StoreUnavailableError, match=r"no ClickHouse answers at http://127\.0\.0\.1:1") as refused:
        connect(settings)

    assert "secret" not in str(refused.value)


def test_rows_of_another_epoch_cluster_or_tenant_are_kept(client: Client) -> None:
    """A row replaces only a row with the same epoch, cluster and tenant, and queries prefer the newest epoch."""
    stage: dict[str, Any] = {"stage_id": 3, "stage_attempt": 0, "num_tasks": 8, "status": "running"}
    envelope: dict[str, Any] = {
        "app_id": "app-1",
        "app_attempt": 0,
        "app_start_ms": 1,
        "window_end_ms": 5_000,
        "row_seq": 9,
    }
    places = [(None, "a", "x"), (5_000, "a", "x"), (5_000, "b", "x"), (5_000, "a", "y"), (5_000, "a", "y")]
    rows = [
        LiveRow(**envelope, row_epoch_ms=epoch, cluster=cluster, tenant=tenant, stage=stage)
        for epoch, cluster, tenant in places
    ]
    newer = LiveRow(
        **{**envelope, "row_seq": 1}, row_epoch_ms=90_000, cluster="a", tenant="x", stage={**stage, "num_tasks": 11}
    )
    feed = next(feed for feed in FEEDS if feed.table == "live")
    application = LiveRow(**{**envelope, "row_seq": 10}, cluster="a", tenant="x", application={"status": "running"})
    values = [row.SerializeToString() for row in (application, newer, *rows)]
    for name, table in make_batch(feed, Records(0, np.arange(len(values)), values), "topic").tables:
        client.insert_arrow(name, table)
    client.command("OPTIMIZE TABLE live FINAL")
    found = queries.run(client, "app-1")

    assert client.query("SELECT count() FROM live").result_rows == [(6,)]
    assert found is not None
    assert [each.num_tasks for each in found.stages] == [11]


def test_replies_count_the_rows_that_were_read(plain: Client) -> None:
    """The summary of a reply contains the number of rows that the engine read, not the number of result rows."""
    plain.insert_arrow("t", ROWS)
    result = plain.query("SELECT sum(number) FROM t")

    assert result.summary["read_rows"] == "1000"
