"""Fixtures with an embedded store that has the rows of a small fleet."""

from __future__ import annotations

from collections.abc import Iterator

import clickhouse_connect
import pytest
from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.store.migrate import migrate
from tests.integration.dashboards.scenario import fill

DATABASE = "dashboards_test"


@pytest.fixture(scope="session")
def fleet_store(store_url) -> Iterator[Client]:
    """Return a client of a database with the scenario."""
    with clickhouse_connect.get_client(dsn=store_url) as administrator:
        administrator.command(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
        with clickhouse_connect.get_client(dsn=store_url, database=DATABASE) as client:
            migrate(client)
            fill(client)
            yield client
        administrator.command(f"DROP DATABASE {DATABASE}")
