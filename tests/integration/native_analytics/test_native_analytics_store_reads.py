"""Tests how many rows the panels and commands read in a store with three months of a company, and by which index."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate
from tests.bench.bench_store import CountingClient, TableRows, commands, panels
from tests.bench.store_company import MINUTE_MS, Company, fill

pytestmark = pytest.mark.timeout(900)
COMPANY = Company(tasks=1_000_000, days=89, end_ms=time.time_ns() // 10**6 // MINUTE_MS * MINUTE_MS)
SHARE = 0.01
# The engine reads whole granules, so a granule for each statement is allowed if the share is smaller.
GRANULE_ROWS = 8192
LEAST_GRANULES = 4
NAMES = [name for name, _ in panels(COMPANY)]
_READS_A_LARGE_TABLE = re.compile(r"ReadFromMergeTree \((?:\w+\.)?(live|facts|findings|application_rows)\)")


@pytest.fixture(scope="module")
def company(module_settings: Settings) -> Iterator[Client]:
    """Return a store with the rows of the company."""
    client = connect(module_settings)
    migrate(client)
    for _ in fill(client, COMPANY):
        pass
    yield client
    client.command(f"DROP DATABASE {module_settings.clickhouse_url.rpartition('/')[2]}")


def test_panels_and_commands_read_a_small_share(company: Client) -> None:
    """Each panel and each command reads at most one percent of its tables, or a few granules."""
    rows = TableRows(company)
    too_many = {}
    for name, ask in (*panels(COMPANY), *commands(COMPANY, company)):
        counting = CountingClient(company)
        ask(counting)
        granules = max(LEAST_GRANULES, len(counting.statements))
        allowed = max(SHARE * rows.behind(counting.statements), granules * GRANULE_ROWS)
        if counting.read_rows > allowed:
            too_many[name] = (counting.read_rows, int(allowed))

    assert too_many == {}


def test_panels_use_an_index_of_the_large_tables(company: Client) -> None:
    """Each panel that reads a large table drops granules by the partition, the primary key or a skip index."""
    scans = {}
    for name, ask in panels(COMPANY):
        counting = CountingClient(company)
        ask(counting)
        plan = "\n".join(row[0] for row in company.query(f"EXPLAIN indexes = 1 {counting.statements[0]}").result_rows)
        if scanning := [part for part in _reads(plan) if not _uses_an_index(part)]:
            scans[name] = scanning

    assert scans == {}


def _reads(plan: str) -> list[str]:
    """Return the parts of a plan that read a large table."""
    return [part for part in re.split(r"(?=ReadFromMergeTree)", plan) if _READS_A_LARGE_TABLE.match(part)]


def _uses_an_index(part: str) -> bool:
    """Return whether an index of the part selects fewer granules than there are."""
    return any(int(read) < int(there) for read, there in re.findall(r"Granules: (\d+)/(\d+)", part))
