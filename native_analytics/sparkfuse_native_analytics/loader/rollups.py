"""Computes the sums of each day from ended runs and from the executors of hosts, and the resources of ended runs."""

from __future__ import annotations

import logging
import threading
import time

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from sparkfuse_native_analytics.loader.run_resources import DAY_MS, roll_run_resources

EVERY_SECONDS = 600.0
# A batch can be stored while a day is computed, so each computation starts somewhat before the last one.
_OVERLAP_MS = 3_600_000
_log = logging.getLogger("sparkfuse.loader")
# Days that have no sums were left when the loader was stopped.
_CHANGED = """(inserted_at >= fromUnixTimestamp64Milli({since_ms:Int64})
       OR toDate(day) NOT IN (SELECT DISTINCT day FROM %s))"""
_ENDED_DAYS = f"""
SELECT DISTINCT intDiv(app_start_ms, {DAY_MS}) AS day FROM application_rows
WHERE {_CHANGED} AND app_start_ms > 0
  AND (row IN ('history', 'application_ended') OR ifNull(application_status, 'running') != 'running')
ORDER BY day
"""
_JOB_DAYS = _ENDED_DAYS % "job_days"
_RESOURCE_DAYS = _ENDED_DAYS % f"(SELECT toDate(intDiv(app_start_ms, {DAY_MS})) AS day FROM run_resources)"
_HOST_DAYS = f"""
SELECT DISTINCT intDiv(seen_ms, {DAY_MS}) AS day FROM host_executors
WHERE {_CHANGED % "host_days"} AND seen_ms > 0
ORDER BY day
"""
_DAY = f"BETWEEN {{day:Int64}} * {DAY_MS} AND ({{day:Int64}} + 1) * {DAY_MS} - 1"
# The identity that is known best is that of the application's start.
_ROLL_JOBS = f"""
INSERT INTO job_days (job_key, day, cluster, tenant, team, runs, failed_runs, elapsed_ms, elapsed_quantiles,
                      finished_tasks, failed_tasks, disk_spilled_bytes)
SELECT identity.job_key, toDate({{day:Int64}}), ifNull(run.cluster, ''), ifNull(run.tenant, ''),
       ifNull(identity.team, ''), count(), countIf(run.status = 'failed'),
       sum(greatest(0, ifNull(run.elapsed_ms, 0))),
       quantilesTDigestStateIf(0.5, 0.95)(toFloat64(assumeNotNull(run.elapsed_ms)), run.elapsed_ms IS NOT NULL),
       sum(greatest(0, ifNull(run.finished_tasks, 0))), sum(greatest(0, ifNull(run.failed_tasks, 0))),
       sum(greatest(0, ifNull(run.disk_spilled_bytes, 0)))
FROM applications AS run
INNER JOIN (
    SELECT app_id, app_start_ms, app_attempt, argMax(job_key, known) AS job_key,
           argMax(tuple(team), known).1 AS team
    FROM job_runs WHERE app_start_ms {_DAY} GROUP BY app_id, app_start_ms, app_attempt
) AS identity USING (app_id, app_start_ms, app_attempt)
WHERE run.app_start_ms {_DAY} AND run.status != 'running'
GROUP BY ALL
"""
_ROLL_HOSTS = f"""
INSERT INTO host_days (host, day, executors, lost_executors, applications)
SELECT host, toDate({{day:Int64}}), uniqExact(app_id, app_attempt, executor_id),
       uniqExactIf((app_id, app_attempt, executor_id), lost), uniqExact(app_id)
FROM host_executors WHERE seen_ms {_DAY}
GROUP BY host
"""


def roll_up(client: Client, since_ms: int, stop: threading.Event | None = None) -> int:
    """Compute the days whose runs or executors were stored since ``since_ms`` (ms since the epoch), and count them.

    Days without sums are computed too. If ``stop`` is set, no further day is computed.

    Raises ClickHouseError.
    """
    rolled = 0
    for days, roll in _ROLLS:
        for (day,) in client.query(days, parameters={"since_ms": since_ms}).result_rows:
            if stop is not None and stop.is_set():
                return rolled
            roll(client, day)
            rolled += 1
    return rolled


def _roll_jobs(client: Client, day: int) -> None:
    client.command(_ROLL_JOBS, parameters={"day": day})


def _roll_hosts(client: Client, day: int) -> None:
    client.command(_ROLL_HOSTS, parameters={"day": day})


_ROLLS = ((_JOB_DAYS, _roll_jobs), (_HOST_DAYS, _roll_hosts), (_RESOURCE_DAYS, roll_run_resources))


def keep_rolled_up(client: Client, stop: threading.Event) -> None:
    """Compute the changed days every ten minutes until ``stop``; the first time, all days that were never computed.

    If the store does not answer, the days are computed the next time.
    """
    since_ms: int | None = None
    while not stop.is_set():
        started_ms = time.time_ns() // 1_000_000
        try:
            if since_ms is None:
                since_ms = last_rolled_ms(client)
            roll_up(client, since_ms, stop)
            since_ms = started_ms - _OVERLAP_MS
        except (ClickHouseError, OSError) as error:
            _log.warning("the sums of days are not computed now: %s", " ".join(str(error).split())[:300])
        except Exception:  # an unexpected value must not end the sums of all days without a trace
            _log.exception("the sums of days are not computed now")
        stop.wait(EVERY_SECONDS)


def last_rolled_ms(client: Client) -> int:
    """Return a time before which all rows of the days with sums are in them, in ms since the epoch; 0 without sums."""
    found = client.query("SELECT toUnixTimestamp64Milli(max(inserted_at)) FROM job_days").result_rows
    return max(0, int(found[0][0]) - _OVERLAP_MS)
