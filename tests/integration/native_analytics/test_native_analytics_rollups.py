"""Tests the sums of each day: from ended runs and executors, computed again without counting twice."""

from __future__ import annotations

import datetime as dt
import time

import pytest
from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.loader.rollups import last_rolled_ms, roll_up
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate
from tests.bench.store_company import MINUTE_MS, TASKS, Company, fill

DAYS = 20
COMPANY = Company(tasks=20 * TASKS, days=DAYS, end_ms=time.time_ns() // 10**6 // MINUTE_MS * MINUTE_MS)
LONG_AGO = dt.date(2000, 1, 1)


@pytest.fixture
def company(settings: Settings) -> Client:
    """Return a store with the rows of a company; the newest run has not ended."""
    client = connect(settings)
    migrate(client)
    for _ in fill(client, COMPANY):
        pass
    return client


def test_days_have_the_ended_runs(company: Client) -> None:
    """The sums of the days are those of all ended runs, and a second computation changes nothing."""
    assert last_rolled_ms(company) == 0
    rolled = roll_up(company, 0)
    once = queries.job_days(company, LONG_AGO)
    roll_up(company, 0)
    ended = company.query(
        "SELECT count(), sum(disk_spilled_bytes) FROM applications WHERE status != 'running'"
    ).first_row
    one_job = queries.job_days(company, LONG_AGO, job_key="job-7")

    assert rolled > DAYS
    assert queries.job_days(company, LONG_AGO) == once
    assert (sum(day.runs for day in once), sum(day.disk_spilled_bytes for day in once)) == tuple(ended)
    assert sum(day.runs for day in once) == COMPANY.applications - 1
    assert [day.runs for day in one_job] == [1]
    assert one_job[0].elapsed_p50_ms == one_job[0].elapsed_p95_ms == 15 * MINUTE_MS
    assert sum(day.runs for day in queries.job_days(company, LONG_AGO, team="team-7")) == 2
    assert last_rolled_ms(company) > 0


def test_days_that_a_stopped_loader_left_are_computed(company: Client) -> None:
    """A day without sums is computed although no row of it was stored since the last computation."""
    roll_up(company, 0)
    whole = queries.job_days(company, LONG_AGO)
    company.command(
        "ALTER TABLE job_days DELETE WHERE day = {day:Date} SETTINGS mutations_sync = 2",
        parameters={"day": whole[3].day},
    )
    left = queries.job_days(company, LONG_AGO)
    roll_up(company, time.time_ns() // 10**6 + DAYS * 86_400_000)

    assert len(left) == len(whole) - 1
    assert queries.job_days(company, LONG_AGO) == whole


@pytest.mark.long
def test_days_of_hosts_have_their_executors(company: Client) -> None:
    """Each host has the executors of its days."""
    roll_up(company, 0)
    found = company.query(
        "SELECT sum(executors), sum(applications) FROM host_days FINAL WHERE host = 'node-7'"
    ).first_row
    expected = company.query(
        "SELECT uniqExact(app_id, executor_id), uniqExact(app_id) FROM host_executors WHERE host = 'node-7'"
    ).first_row

    assert tuple(found) == tuple(expected)
    assert found[0] > 0


@pytest.mark.long
def test_day_whose_rows_expired_keeps_its_sums(company: Client) -> None:
    """A day that is computed after some of its rows have expired keeps the larger sums."""
    sums = "SELECT sum(executors) FROM host_days FINAL"
    roll_up(company, 0)
    before = company.query(sums).first_row
    company.command("ALTER TABLE host_executors DELETE WHERE executor_id = '0' SETTINGS mutations_sync = 2")
    roll_up(company, 0)

    assert company.query(sums).first_row == before
