"""Tests that the loader stores each example as its golden row, through the broker and the kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clickhouse_connect
import pytest
from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.tables import Table, tables
from tests.integration.contracts.conftest import Sent
from tests.integration.contracts.golden import golden, without_null
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(600)
TOPICS = {
    **{
        name: name
        for name in ("facts", "live", "findings", "baselines", "feedback", "audit", "receipts", "history", "names")
    },
    "stage_expectations": "expectations",
    "dead_letters": "dead-letters",
}
# Ticks belong to no application, and the kind undecodable exists only in Flink.
NOT_STORED = {"facts": {"tick", "undecodable"}, "live": {"tick"}}
LOADING_SECONDS = 180


@pytest.fixture(scope="module")
def loaded_store(sent_examples, store_url, tmp_path_factory) -> Iterator[Client]:
    """Return a client of a database into which the loader has written the examples."""
    database = f"contracts_{uuid.uuid4().hex[:8]}"
    with clickhouse_connect.get_client(dsn=store_url) as administrator:
        administrator.command(f"CREATE DATABASE {database}")
    with clickhouse_connect.get_client(dsn=store_url, database=database) as client:
        loader = _start_loader(sent_examples, f"{store_url}/{database}", tmp_path_factory.mktemp("loader"))
        try:
            loaded = _counts(sent_examples)
            wait_for(lambda: loader.poll() is not None or _all_loaded(client, loaded), LOADING_SECONDS, "the loader")
            yield client
        finally:
            loader.terminate()
            loader.wait(90)
        client.command(f"DROP DATABASE {database}")


def _start_loader(sent: Sent, clickhouse_url: str, folder: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {
        "SPARKFUSE_KAFKA_BOOTSTRAP": sent.bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": sent.prefix,
        "SPARKFUSE_CLICKHOUSE_URL": clickhouse_url,
        "SPARKFUSE_METRICS_PORT": "",
    }
    with (folder / "loader.log").open("wb") as log:
        command = [sys.executable, "-m", "sparkfuse_native_analytics.loader"]
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def _counts(sent: Sent) -> list[int]:
    """Return the number of rows of each table after all examples were stored."""
    counts = [len(set(sent.cases(topic)) - NOT_STORED.get(table, set())) for table, topic in TOPICS.items()]
    # The loader writes one dead letter itself, for the undecodable fact.
    return [count + (table == "dead_letters") for table, count in zip(TOPICS, counts, strict=True)]


def _all_loaded(client: Client, loaded: list[int]) -> bool:
    known = client.query("SELECT name FROM system.tables WHERE database = currentDatabase()").result_columns
    if not known or not TOPICS.keys() <= set(known[0]):
        return False
    return [client.command(f"SELECT count() FROM {table}") for table in TOPICS] == loaded


def _rows(client: Client, table: Table, cases: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    selected = [
        f"base64Encode({column.name}) AS {column.name}" if _is_bytes(column.name) else f"`{column.name}`"
        for column in table.columns
        if column.path or column.name in {"kind", "row"}
    ]
    content = client.raw_query(
        f"SELECT kafka_offset, {', '.join(selected)} FROM {table.name} FINAL ORDER BY kafka_offset",
        settings={"output_format_json_quote_64bit_integers": 0},
        fmt="JSONEachRow",
    )
    rows = [json.loads(line) for line in content.decode().splitlines()]
    kept = [row for row in rows if row["kafka_offset"] < len(cases)]
    return {cases[row.pop("kafka_offset")]: _filled(row) for row in kept}


def _filled(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in without_null(row).items() if value not in ([], {})}


def _is_bytes(name: str) -> bool:
    return name == "event_id" or name.endswith("payload")


@pytest.mark.parametrize("name", TOPICS)
def test_store_holds_the_golden_rows(loaded_store, sent_examples, name) -> None:
    """Each column in the store has the value of the golden row.

    An absent field is NULL or an empty list or map, and zero is zero.
    """
    cases = sent_examples.cases(TOPICS[name])
    rows = _rows(loaded_store, tables()[name], cases)

    assert set(cases) - set(rows) == NOT_STORED.get(name, set())
    assert rows == golden("store", name, rows)


def test_fact_without_its_key_becomes_a_dead_letter(loaded_store) -> None:
    """A record without the key of its table becomes a dead letter with topic, offset and reason."""
    letters = loaded_store.query(
        "SELECT origin_kafka_offset, topic, reason FROM dead_letters "
        "WHERE component = 'loader' AND reason LIKE '%app_id%'"
    ).result_rows

    assert len(letters) == 1
    assert letters[0][1].endswith(".facts")
    assert letters[0][2] == "not a Fact: it has no app_id"
