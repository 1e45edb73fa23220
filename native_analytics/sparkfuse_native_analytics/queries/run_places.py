"""Finds the places of runs by their identity, in the small table of runs."""

from __future__ import annotations

import dataclasses

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.run_filter import RunFilter, RunPlace
from sparkfuse_native_analytics.queries.select import names, select

_CONDITIONS = {
    "job_key": "job_key = {job_key:String}",
    "job_text": "positionCaseInsensitiveUTF8(job_key, {job_text:String}) > 0",
    "who": "(user_name = {who:String} OR owner = {who:String} OR team = {who:String})",
    "team": "team = {team:String}",
    "user": "user_name = {user:String}",
    "text": "positionCaseInsensitiveUTF8(concat(ifNull(name, ''), ' ', app_id), {text:String}) > 0",
    "since_ms": "app_start_ms >= {since_ms:Int64}",
    "until_ms": "app_start_ms <= {until_ms:Int64}",
}
_IDENTITY = ("job_key", "job_text", "who", "team", "user", "text")
_AFTER = """app_start_ms <= {after_start_ms:Int64} AND (app_start_ms, app_id, app_attempt)
      < ({after_start_ms:Int64}, {after_id:String}, {after_attempt:Int32})"""
# DISTINCT, because the table can have several versions of a run until they are merged.
_PLACES = f"""
SELECT DISTINCT {names(RunPlace)} FROM job_runs
WHERE {{conditions}}
ORDER BY app_start_ms DESC, app_id DESC, app_attempt DESC
LIMIT {{{{limit:UInt32}}}}
"""


def has_identity(wanted: RunFilter) -> bool:
    """Return whether the filter restricts columns of the identity, so that ``run_places`` can find the runs."""
    return any(getattr(wanted, name) for name in _IDENTITY)


def run_places(client: Client, wanted: RunFilter, limit: int, after: RunPlace | None) -> list[RunPlace]:
    """Return the places of at most ``limit`` runs with the wanted identity, newest first.

    Some of the runs may not be wanted: the table does not have their status, and it keeps an earlier identity of a run.

    Raises StoreEmptyError.
    """
    values = {name: value for name, value in dataclasses.asdict(wanted).items() if value and name in _CONDITIONS}
    conditions = [_CONDITIONS[name] for name in values]
    if after:
        conditions.append(_AFTER)
        values |= {"after_start_ms": after.app_start_ms, "after_id": after.app_id, "after_attempt": after.app_attempt}
    sql = _PLACES.format(conditions="\n  AND ".join(conditions))
    return select(client, RunPlace, sql, {**values, "limit": limit})
