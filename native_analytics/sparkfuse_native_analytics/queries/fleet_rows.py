"""Reads the state of the fleet: how much of it is observed, and what the fuse does."""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.fuse_steps import FuseStep, fuse_steps
from sparkfuse_native_analytics.queries.select import fetch

MAX_COUNTED = 1_000


@dataclass(frozen=True)
class Coverage:
    """How the runs since ``since_ms`` (ms since the epoch) are known to the store.

    ``observed_runs`` sent facts while they ran; ``logged_runs`` are known only from their event log.
    ``incomplete_runs`` have a completeness below 1 or none. ``completeness`` is the mean of the known ones.
    """

    since_ms: int
    runs: int
    observed_runs: int
    logged_runs: int
    incomplete_runs: int
    completeness: float | None


@dataclass(frozen=True)
class FuseState:
    """The latest steps of the fuse, newest first, and the number of each among the latest 1,000 since ``since_ms``.

    The key of a count is actor and step, such as ``controller would_act``. Holds and armings are not in the store:
    ``sparkfuse fuse status`` shows them.
    """

    since_ms: int
    counts: dict[str, int]
    steps: list[FuseStep]


_COVERAGE = """
SELECT count() AS runs, countIf(facts_seen IS NOT NULL) AS observed_runs, runs - observed_runs AS logged_runs,
       countIf(ifNull(run.completeness, 0) < 1) AS incomplete_runs, avgOrNull(run.completeness) AS completeness
FROM applications AS run
WHERE app_start_ms >= {since_ms:Int64}
"""


def coverage(client: Client, since_ms: int) -> Coverage:
    """Return the coverage of the runs that started at ``since_ms`` or later. Raises StoreEmptyError."""
    (row,) = fetch(client, _COVERAGE, {"since_ms": since_ms})
    return Coverage(since_ms=since_ms, **row)


def fuse_state(client: Client, since_ms: int, limit: int, app_id: str = "") -> FuseState:
    """Return the latest steps of the fuse, optionally only those about one application. Raises StoreEmptyError."""
    steps = fuse_steps(client, MAX_COUNTED, app_id=app_id, since_ms=since_ms)
    names = [f"{each.actor} {each.step}" for each in steps]
    return FuseState(since_ms, {name: names.count(name) for name in sorted(set(names))}, steps[:limit])
