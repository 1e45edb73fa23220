"""Fills the table job_runs from the applications that the store has, because SQL cannot identify a run."""

from __future__ import annotations

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.loader.job_runs import OF_START, as_table, job_run
from sparkfuse_native_analytics.store.columns import JOB_RUNS

DAY_MS = 86_400_000
_DAYS = f"SELECT DISTINCT intDiv(app_start_ms, {DAY_MS}) AS day FROM application_rows ORDER BY day"
_RUNS = f"""
SELECT app_id, app_attempt, app_start_ms, name, user_name, properties FROM applications
WHERE app_start_ms >= {{day:Int64}} * {DAY_MS} AND app_start_ms < ({{day:Int64}} + 1) * {DAY_MS}
"""


def fill_job_runs(client: Client) -> None:
    """Insert the runs of each day. Raises ClickHouseError."""
    for (day,) in client.query(_DAYS).result_rows:
        runs = client.query(_RUNS, parameters={"day": day}).named_results()
        table = as_table(job_run(row, row["properties"], OF_START) for row in runs)
        client.insert_arrow(JOB_RUNS, table)
