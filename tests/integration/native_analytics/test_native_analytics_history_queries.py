"""Tests that a backfill stores the queries of an event log in the real store, with the values of the analysis."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.settings import Settings
from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.loader.batch import Records, make_batch
from sparkfuse_native_analytics.loader.feed import FEEDS
from sparkfuse_native_analytics.offline.application import Application, read_application
from sparkfuse_native_analytics.offline.history_rows import display_name_messages, history_rows
from sparkfuse_native_analytics.offline.queries import queries as analysed_queries
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate

LOGS = Path(__file__).parents[2] / "logs" / "queries"
FEED = {feed.table: feed for feed in FEEDS}


@pytest.fixture
def client(settings: Settings) -> Client:
    """Return a client of a store with all tables."""
    client = connect(settings)
    migrate(client)
    return client


def store(client: Client, table: str, messages: Iterable[bytes]) -> None:
    """Store records of a topic, as the loader does."""
    values = list(messages)
    for name, rows in make_batch(FEED[table], Records(0, np.arange(len(values)), values), "topic").tables:
        client.insert_arrow(name, rows)


def backfill(client: Client) -> Application:
    """Write what `sparkfuse backfill` sends about the log of a job with 56 queries, and merge the table's parts."""
    (log,) = find_logs(str(LOGS / "spark35.zstd")).logs
    application = read_application(log)
    store(client, "history", [row.SerializeToString() for row in history_rows(application, "prod", "team")])
    names = display_name_messages(application, "prod", "team", 1)
    store(client, "names", [name.SerializeToString() for name in names])
    client.command("OPTIMIZE TABLE history FINAL")
    return application


def test_run_of_an_event_log_has_its_queries(client: Client) -> None:
    """`sparkfuse run` shows each query of the log with the values of the analysis."""
    application = backfill(client)
    found = queries.run(client, application.app_id or "")
    assert found is not None

    columns = ("query_id", "root_query_id", "name", "title", "description", "call_site", "status", "started_ms",
               "ended_ms", "elapsed_ms", "sources", "sink", "disk_spilled_bytes")  # fmt: skip
    expected = analysed_queries(application)
    assert [{name: getattr(query, name) for name in columns} for query in found.queries] == [
        {name: value for name, value in query.items() if name in columns} for query in expected
    ]
    assert [query.finished_tasks for query in found.queries] == [query["tasks"] for query in expected]
    assert [query.work_bytes for query in found.queries] == [
        query["input_bytes"] + query["shuffle_read_bytes"] for query in expected
    ]


def test_older_store_gains_the_queries_of_logs(client: Client) -> None:
    """An older store, without the query in the key of `history`, is migrated and then keeps one row for each query."""
    definition = client.query("SHOW CREATE TABLE history").result_rows[0][0]
    before = definition.replace(", ifNull(query_query_id, -1)", "")
    before = "\n".join(line for line in before.splitlines() if not line.lstrip().startswith("`query_"))
    client.command("DROP TABLE history")
    client.command(before)
    client.command("ALTER TABLE schema_migrations DELETE WHERE file LIKE '%0009%' SETTINGS mutations_sync = 2")
    assert "query_query_id" not in str(client.command("SHOW CREATE TABLE history"))

    assert "0009_history_queries.sql" in " ".join(migrate(client))
    application = backfill(client)

    count = client.command("SELECT count() FROM history FINAL WHERE row = 'query'")
    assert count == len(analysed_queries(application))
    assert migrate(client) == []
