"""Reads the sums of the days of a job or a team, which the store keeps for years."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.select import select


@dataclass(frozen=True)
class JobDay:
    """The ended runs that started on one day (UTC); durations are in ms, None if no duration is known."""

    day: dt.date
    runs: int
    failed_runs: int
    elapsed_p50_ms: float | None
    elapsed_p95_ms: float | None
    disk_spilled_bytes: int


_DAYS = """
WITH quantilesTDigestMerge(0.5, 0.95)(elapsed_quantiles) AS quantiles
SELECT day, sum(days.runs) AS runs, sum(days.failed_runs) AS failed_runs,
       if(isNaN(quantiles[1]), NULL, quantiles[1]) AS elapsed_p50_ms,
       if(isNaN(quantiles[2]), NULL, quantiles[2]) AS elapsed_p95_ms,
       sum(days.disk_spilled_bytes) AS disk_spilled_bytes
FROM (
    SELECT * FROM job_days FINAL
    WHERE ({job_key:String} = '' OR job_key = {job_key:String}) AND ({team:String} = '' OR team = {team:String})
      AND day >= {since:Date}
) AS days
GROUP BY day
ORDER BY day DESC
"""


def job_days(client: Client, since: dt.date, *, job_key: str = "", team: str = "") -> list[JobDay]:
    """Return the days since ``since`` on which ended runs started, newest first; optionally of one job or one team.

    Raises StoreEmptyError.
    """
    return select(client, JobDay, _DAYS, {"job_key": job_key, "team": team, "since": since})
