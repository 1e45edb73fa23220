"""Fixtures: the console over an embedded store with a small fleet, a real run, hostile text and many findings."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.examples import examples_of
from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate
from tests.console_server import RunningConsole, serving
from tests.integration.console.rows import (
    fill_console,
    store_applied_advice,
    store_real_run,
    store_skewed_runs,
    store_slow_run,
)
from tests.integration.dashboards.scenario import arrow_rows, fill


@pytest.fixture(scope="session")
def database_url(store_url: str) -> Iterator[str]:
    """Return the address of an empty database."""
    name = f"console_{uuid.uuid4().hex[:8]}"
    administrator = connect(Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": store_url}))
    administrator.command(f"CREATE DATABASE {name}")
    yield f"{store_url}/{name}"
    administrator.command(f"DROP DATABASE {name}")


@pytest.fixture(scope="session")
def fleet(database_url: str) -> Client:
    """Return a client of a database with the rows of the tests."""
    client = connect(Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": database_url}))
    migrate(client)
    fill(client)
    fill_console(client)
    client.insert_arrow("baselines", arrow_rows("baselines", examples_of(Baseline).values()))
    return client


@pytest.fixture(scope="session")
def real_run(fleet: Client) -> Application:
    """Return a run of a real event log that is in the store."""
    return store_real_run(fleet)


@pytest.fixture(scope="session")
def slow_run(fleet: Client) -> tuple[Application, Application]:
    """Return a usual run and a slower run of one job that are in the store."""
    store_skewed_runs(fleet)
    store_applied_advice(fleet)
    return store_slow_run(fleet)


@pytest.fixture(scope="session")
def console(fleet: Client, real_run: Application, slow_run: object, database_url: str) -> Iterator[RunningConsole]:
    """Return a console that reads the rows of the tests."""
    with serving(database_url) as running:
        yield running
