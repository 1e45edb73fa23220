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
from sparkfuse_rules.prices import Prices
from tests.bench.store_company import MINUTE_MS, TASKS, Company, fill

DAYS = 6
COMPANY = Company(tasks=20 * TASKS, days=DAYS, end_ms=time.time_ns() // 10**6 // MINUTE_MS * MINUTE_MS)
LONG_AGO = dt.date(2000, 1, 1)
PRICES = Prices("USD", 0.05, 0.005, "test prices")


@pytest.fixture
def company(settings: Settings) -> Client:
    """Return a store with the rows of a company; the newest run has not ended."""
    client = connect(settings)
    migrate(client)
    for _ in fill(client, COMPANY):
        pass
    client.command("TRUNCATE TABLE run_resources")
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


def test_costs_of_teams_and_jobs_are_those_of_their_executors(company: Client) -> None:
    """Each ended run costs its executors; failed runs, idle cores and repeated tasks are waste, by team and by job."""
    client = company
    failed, retried, lost, silent = (COMPANY.app_id(number) for number in (3, 13, 4, 6))
    _change(client, "application_rows", f"application_status = 'failed' WHERE app_id = '{failed}'")
    _change(client, "application_rows", f"application_status = 'unknown' WHERE app_id = '{silent}'")
    _change(client, "ended_stages", "finished_duration_ms = 60000, finished_tasks = 50 WHERE 1")
    _change(client, "ended_stages", f"failed_tasks = 25 WHERE app_id = '{retried}'")
    client.command(f"ALTER TABLE live DELETE WHERE app_id = '{lost}' SETTINGS mutations_sync = 2")
    roll_up(client, 0)
    teams = queries.costs(client, PRICES, "team", 0)
    by_name = {each.name: each for each in teams.rows}
    third, fourth, unpriced = by_name["team-3"], by_name["team-5"], by_name["team-4"]
    jobs = queries.costs(client, PRICES, "job", 0, team="team-3")
    run_hours, run_cost = 16 * 0.25, 16 * 0.25 * PRICES.core_hour + 4 * 0.25 * PRICES.gib_hour
    busy_hours = 10 * 60_000 / 3_600_000

    assert teams.rows_total == len(teams.rows) == 10
    assert teams.total.runs == sum(each.runs for each in teams.rows) == COMPANY.applications - 1
    assert (third.runs, third.failed_runs, third.unpriced_runs) == (2, 1, 0)
    assert third.core_hours == pytest.approx(2 * run_hours)
    assert third.gib_hours == pytest.approx(2 * 4 * 0.25)
    assert third.cost == pytest.approx(2 * run_cost)
    assert third.failed.cost == pytest.approx(run_cost)
    assert third.idle.core_hours == pytest.approx(run_hours - busy_hours)
    assert third.retried.core_hours == pytest.approx(busy_hours / 2)
    assert third.waste.core_hours == pytest.approx(third.core_hours - busy_hours / 2)
    assert third.waste.cost == pytest.approx(third.cost * third.waste_share)
    # The cores of a run that became silent are not idle cores of a run that succeeded.
    assert (by_name["team-6"].runs, by_name["team-6"].failed_runs) == (2, 0)
    assert by_name["team-6"].idle.core_hours == pytest.approx(run_hours - busy_hours)
    assert (fourth.retried.core_hours, fourth.failed.cost) == (0, 0)
    assert teams.rows[0].name == "team-3"
    assert (unpriced.unpriced_runs, unpriced.runs) == (1, 2)
    assert unpriced.cost == pytest.approx(run_cost)
    assert [each.name for each in jobs.rows] == ["job-3", "job-13"]
    assert jobs.total.cost == pytest.approx(third.cost)


def test_unknown_costs_are_no_zero(company: Client) -> None:
    """If all or some executors expire, the known costs stay; without executors or prices, money is unknown, not 0."""
    roll_up(company, 0)
    known = queries.costs(company, PRICES, "team", 0)
    expired = "executor_added_executor_id IN (SELECT min(executor_added_executor_id) FROM live)"
    company.command(f"ALTER TABLE live DELETE WHERE {expired} SETTINGS mutations_sync = 2")
    roll_up(company, 0)
    partly = queries.costs(company, PRICES, "team", 0)
    company.command("TRUNCATE TABLE live")
    roll_up(company, 0)
    again = queries.costs(company, PRICES, "team", 0)
    company.command("TRUNCATE TABLE run_resources")
    roll_up(company, 0)
    found, off = queries.costs(company, PRICES, "job", 0, limit=3), queries.costs(company, None, "team", 0)
    nobody = queries.costs(company, PRICES, "job", 0, team="' OR 1=1 --")

    assert known.total.cost
    assert (partly, again) == (known, known)
    assert (len(found.rows), found.rows_total, found.total.runs) == (3, 19, 19)
    assert found.total.unpriced_runs == 19
    assert {found.total.cost, found.total.waste.cost, off.total.cost, nobody.total.cost} == {None}
    assert (off.currency, nobody.rows, nobody.total.runs) == (None, [], 0)


def _change(client: Client, table: str, what: str) -> None:
    client.command(f"ALTER TABLE {table} UPDATE {what} SETTINGS mutations_sync = 2")


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
