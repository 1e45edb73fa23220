"""Tests that the store keeps rows for as long as the settings say."""

from __future__ import annotations

import dataclasses

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate
from sparkfuse_native_analytics.store.retention import kept_days
from tests.waiting import wait_for

OLD_DAYS = 40
FACT = """INSERT INTO facts (event_id, app_id, app_start_ms, inserted_at)
SELECT toString(number), 'app-1', 1, now() - INTERVAL if(number < 10, {days:Int32}, 0) DAY FROM numbers(20)
SETTINGS max_partitions_per_insert_block = 0"""


def test_tables_keep_rows_for_the_days_of_the_settings(settings: Settings) -> None:
    """Each setting changes its tables, and an equal setting changes nothing."""
    client = connect(settings)
    migrate(client)
    before = kept_days(client)
    wanted = dataclasses.replace(settings, keep_facts_days=7, keep_live_days=30, keep_runs_days=2_000)
    done = migrate(client, wanted)
    after = kept_days(client)

    assert (before["facts"], before["live"]) == (30, 90)
    assert set(before.values()) == {30, 90, 400}
    assert (after["facts"], after["live"], after["dead_letters"]) == (7, 30, 30)
    assert {days for table, days in after.items() if table not in ("facts", "live", "dead_letters")} == {2_000}
    assert "findings: kept for 2000 days" in done
    assert migrate(client, wanted) == []


def test_longer_and_shorter_times_apply_to_stored_rows(settings: Settings) -> None:
    """Rows that are stored expire by the new time: a longer time keeps them, a shorter time drops their partition."""
    client = connect(settings)
    migrate(client, dataclasses.replace(settings, keep_facts_days=10 * OLD_DAYS))
    client.command(FACT, parameters={"days": OLD_DAYS})
    client.command("OPTIMIZE TABLE facts FINAL")
    kept = client.query("SELECT count() FROM facts").result_rows
    migrate(client, dataclasses.replace(settings, keep_facts_days=OLD_DAYS // 2))

    def rows() -> int:
        client.command("OPTIMIZE TABLE facts FINAL")
        return int(client.query("SELECT count() FROM facts").result_rows[0][0])

    wait_for(lambda: rows() == 10, 60, "the expired partition to be dropped")
    assert kept == [(20,)]
