"""Tests that every SQL query of every runbook runs on the store."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.runbooks import queries

DOCS = Path(__file__).parents[3] / "docs"
PARAMETERS = {
    "app_id": "app-20261121020000-0042",
    "stage_id": 7,
    "executor_id": "3",
    "host": "worker-3",
    "job_key": "prod-airflow/daily_sales.load",
    "stage_fingerprint": "9d2c1e0fa8b34455",
    "streaming_name": "orders to lake",
    "query_id": 5,
}


def runbook_queries() -> Iterator[tuple[str, str]]:
    for rule in load_catalog().values():
        yield from ((f"{rule.id} {number}", query) for number, query in enumerate(queries(rule.runbook), 1))
    for page in sorted((DOCS / "runbooks").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        yield from ((f"{page.name} {number}", query) for number, query in enumerate(queries(text), 1))


QUERIES = dict(runbook_queries())


@pytest.fixture(scope="module")
def store(store_url: str) -> Client:
    """A client of a database with all tables."""
    server = Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": store_url})
    connect(server).command("CREATE DATABASE runbooks")
    client = connect(dataclasses.replace(server, clickhouse_url=f"{store_url}/runbooks"))
    migrate(client)
    return client


@pytest.mark.parametrize("query", QUERIES.values(), ids=list(QUERIES))
def test_runbook_query_runs(store: Client, query: str) -> None:
    """The tables and columns of a runbook's query exist, and their types fit the query."""
    store.query(query, parameters=PARAMETERS)

    assert store.query(f"DESCRIBE ({query})", parameters=PARAMETERS).row_count > 0


def test_every_live_rule_has_a_query() -> None:
    """Most runbooks of live rules have a query that shows the evidence in the store."""
    with_queries = {name.split()[0] for name in QUERIES}

    assert len(with_queries & set(load_catalog())) >= 26
