"""Computes what the ended runs of a day were allocated, and how much of it their tasks used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.store.columns import RUN_RESOURCES
from sparkfuse_rules.knowledge.allocation import driver_memory_mib, executor_memory_mib

DAY_MS = 86_400_000
DEFAULT_PROFILE = 0
# Of Int64; a larger amount comes from a setting that nobody can have, such as a memory of exabytes.
_LARGEST = 2**63 - 1
OF_DAY = f"app_start_ms BETWEEN {{day:Int64}} * {DAY_MS} AND ({{day:Int64}} + 1) * {DAY_MS} - 1"
_Key = tuple[str, int, int]
_KEY = "app_id, app_start_ms, app_attempt"
# The identity that is known best is that of the application's start.
_RUNS = f"""
SELECT run.app_id AS app_id, run.app_start_ms AS app_start_ms, run.app_attempt AS app_attempt,
       identity.job_key AS job_key, ifNull(identity.team, '') AS team, run.status AS status,
       run.elapsed_ms AS elapsed_ms, run.completeness AS completeness, run.disk_spilled_bytes AS disk_spilled_bytes
FROM applications AS run
INNER JOIN (
    SELECT {_KEY}, argMax(job_key, known) AS job_key, argMax(tuple(team), known).1 AS team
    FROM job_runs WHERE {OF_DAY} GROUP BY {_KEY}
) AS identity USING ({_KEY})
WHERE run.{OF_DAY} AND run.status != 'running'
"""
# An executor that was not removed was allocated until the end of its run, or until the last row of a run without end.
# Live rows arrive after the start of their run, so earlier partitions are not read.
_EXECUTORS = f"""
SELECT {_KEY}, of_driver, profile, count() AS executors, sum(cores * allocated_ms) AS core_ms,
       sum(allocated_ms) AS executor_ms
FROM (
    SELECT {_KEY}, executor_id = 'driver' AS of_driver, profile, cores,
           greatest(0, least(if(removed_ms > 0, removed_ms, until_ms), until_ms) - least(added_ms, until_ms))
               AS allocated_ms
    FROM (
        SELECT {_KEY},
               assumeNotNull(coalesce(executor_added_executor_id, executor_removed_executor_id)) AS executor_id,
               toInt64(assumeNotNull(max(executor_added_cores))) AS cores,
               assumeNotNull(max(executor_added_added_ms)) AS added_ms,
               ifNull(max(executor_removed_removed_ms), 0) AS removed_ms,
               ifNull(max(executor_added_resource_profile_id), {DEFAULT_PROFILE}) AS profile
        FROM live
        WHERE row IN ('executor_added', 'executor_removed') AND {OF_DAY}
          AND inserted_at >= fromUnixTimestamp64Milli(({{day:Int64}} - 1) * {DAY_MS})
        GROUP BY {_KEY}, executor_id
        HAVING max(executor_added_cores) > 0 AND max(executor_added_added_ms) > 0
    ) AS executor
    INNER JOIN (
        SELECT {_KEY}, assumeNotNull(coalesce(ended_ms, window_end_ms)) AS until_ms FROM applications
        WHERE {OF_DAY} AND status != 'running' AND coalesce(ended_ms, window_end_ms) IS NOT NULL
    ) AS run USING ({_KEY})
)
GROUP BY {_KEY}, of_driver, profile
"""
_SETTINGS = f"""
SELECT {_KEY}, argMax(ifNull(application_started_master, ''), (ifNull(row_epoch_ms, 0), row_seq)) AS master,
       argMax(application_started_configuration, (ifNull(row_epoch_ms, 0), row_seq)) AS configuration
FROM application_rows
WHERE {OF_DAY} AND row = 'application_started'
GROUP BY {_KEY}
"""
# The store has no duration of single tasks, so tasks that failed, were killed or ran again count as long as the others.
_STAGES = f"""
SELECT {_KEY}, sum(finished_duration_ms) AS task_ms,
       sum(finished_duration_ms * least(1, (ifNull(failed_tasks, 0) + ifNull(killed_tasks, 0)
           + ifNull(resubmitted_tasks, 0)) / greatest(1, ifNull(finished_tasks, 0)))) AS retried_ms,
       sum(finished_input_bytes) AS input_bytes
FROM best_stages
WHERE {OF_DAY} AND app_id IN (SELECT app_id FROM application_rows WHERE {OF_DAY})
GROUP BY {_KEY}
"""
SCHEMA = pa.schema({
    "app_start_ms": pa.int64(), "app_id": pa.string(), "app_attempt": pa.int32(), "job_key": pa.string(),
    "team": pa.string(), "status": pa.string(), "elapsed_ms": pa.int64(), "completeness": pa.float64(),
    "core_ms": pa.int64(), "memory_mib_ms": pa.int64(), "busy_core_ms": pa.int64(), "retried_core_ms": pa.int64(),
    "input_bytes": pa.int64(), "disk_spilled_bytes": pa.int64(), "executors": pa.uint32(),
})  # fmt: skip


def roll_run_resources(client: Client, day: int) -> None:
    """Store a row for each ended run that started on a day, counted in days since the epoch (UTC).

    Raises ClickHouseError.
    """
    executors: dict[_Key, list[dict[str, Any]]] = defaultdict(list)
    for row in _rows(client, _EXECUTORS, day):
        executors[_key(row)].append(row)
    settings = {_key(row): row for row in _rows(client, _SETTINGS, day)}
    stages = {_key(row): row for row in _rows(client, _STAGES, day)}
    rows = [
        row | resources(executors.get(_key(row), []), settings.get(_key(row), {}), stages.get(_key(row), {}))
        for row in _rows(client, _RUNS, day)
    ]
    client.insert_arrow(RUN_RESOURCES, pa.Table.from_pylist(rows, schema=SCHEMA))


def resources(
    executors: list[dict[str, Any]], settings: Mapping[str, Any], stages: Mapping[str, Any]
) -> dict[str, int | None]:
    """Return the allocation of a run and the part that its tasks used, in core ms and MiB ms, and the input in bytes.

    An amount is None if it is unknown, or too large to be true. ``executors`` of the result is the number of executors
    that the allocation contains. ``executors`` has the sums of each kind of executor, ``settings`` the configuration,
    ``stages`` the sums of tasks.
    """
    core_ms = sum(each["core_ms"] for each in executors) if executors else None
    configuration = settings.get("configuration", {})
    cores_per_task = _task_cpus(configuration)
    busy, retried = stages.get("task_ms"), stages.get("retried_ms")
    amounts: dict[str, int | None] = {
        "core_ms": core_ms,
        "memory_mib_ms": _memory_mib_ms(executors, settings) if settings else None,
        "busy_core_ms": None if busy is None else busy * cores_per_task,
        "retried_core_ms": None if retried is None else round(retried * cores_per_task),
        "input_bytes": stages.get("input_bytes"),
    }
    stored = {name: amount if amount is None or amount <= _LARGEST else None for name, amount in amounts.items()}
    return {**stored, "executors": sum(each["executors"] for each in executors)}


def _memory_mib_ms(executors: list[dict[str, Any]], settings: Mapping[str, Any]) -> int | None:
    """Return the sum of the memory x time of the executors; only the default resource profile has a known size."""
    configuration = settings["configuration"]
    of_executor = executor_memory_mib(settings["master"], configuration)
    parts = []
    for each in executors:
        size = driver_memory_mib(configuration) if each["of_driver"] else of_executor
        parts.append(None if size is None or each["profile"] != DEFAULT_PROFILE else size * each["executor_ms"])
    known = [each for each in parts if each is not None]
    return sum(known) if known and len(known) == len(parts) else None


def _task_cpus(configuration: Mapping[str, str]) -> int:
    """Return the cores of a task; 1 if the setting is absent or cannot be read."""
    text = configuration.get("spark.task.cpus", "")
    return max(1, int(text)) if text.isdecimal() and len(text) < 5 else 1


def _rows(client: Client, sql: str, day: int) -> list[dict[str, Any]]:
    return list(client.query(sql, parameters={"day": day}).named_results())


def _key(row: Mapping[str, Any]) -> _Key:
    return row["app_id"], row["app_start_ms"], row["app_attempt"]
