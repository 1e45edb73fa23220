"""Sets for how long the tables keep their rows."""

from __future__ import annotations

import re
from collections.abc import Mapping

from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.settings import Settings

# The tables of facts and live rows; every other table with a limit has rows of runs or findings.
FACTS, LIVE = "facts", "live"
# Rows about records that could not be processed; people read them within days, so their time is not a setting.
_FIXED = ("dead_letters",)
_DAYS = re.compile(r"TTL toDateTime\(inserted_at\) \+ toIntervalDay\((\d+)\)")
_TABLES = """
SELECT name, create_table_query FROM system.tables
WHERE database = currentDatabase() AND engine LIKE '%MergeTree' ORDER BY name
"""


def kept_days(client: Client) -> Mapping[str, int]:
    """Return the number of days for which each table keeps its rows; a table without a limit is left out."""
    found = {name: _DAYS.search(ddl) for name, ddl in client.query(_TABLES).result_rows}
    return {name: int(days[1]) for name, days in found.items() if days}


def apply_retention(client: Client, settings: Settings) -> list[str]:
    """Change the tables whose limit differs from the settings; return a line for each changed table.

    Existing rows get the new limit too: ClickHouse computes when each part expires from its times of arrival, and does
    not write the part again. Parts that have expired are dropped at the next merge.

    Raises ClickHouseError.
    """
    changed = []
    for table, days in kept_days(client).items():
        wanted = {FACTS: settings.keep_facts_days, LIVE: settings.keep_live_days}.get(table, settings.keep_runs_days)
        if days == wanted or table in _FIXED:
            continue
        client.command(f"ALTER TABLE {table} MODIFY SETTING materialize_ttl_recalculate_only = 1")
        client.command(f"ALTER TABLE {table} MODIFY TTL toDateTime(inserted_at) + INTERVAL {wanted} DAY")
        changed.append(f"{table}: kept for {wanted} days")
    return changed
