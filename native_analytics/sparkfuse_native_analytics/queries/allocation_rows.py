"""Computes what the executors of a run have been allocated so far, as the detect job does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.run_rows import Run
from sparkfuse_native_analytics.queries.select import fetch, select
from sparkfuse_rules.knowledge.allocation import Allocation as Sums
from sparkfuse_rules.knowledge.allocation import driver_memory_mib, executor_memory_mib, joined, left

DRIVER, DEFAULT_PROFILE = "driver", 0


@dataclass(frozen=True)
class Allocation:
    """Cores and memory of a run's executors, each multiplied by the time for which they were allocated."""

    core_ms: int
    memory_mib_ms: int | None


@dataclass(frozen=True)
class _Executor:
    executor_id: str
    cores: int
    added_ms: int
    removed_ms: int | None
    profile: int | None


_ATTEMPT = "app_id = {app_id:String} AND app_start_ms = {app_start_ms:Int64} AND app_attempt = {app_attempt:Int32}"
_EXECUTORS = f"""
SELECT assumeNotNull(coalesce(executor_added_executor_id, executor_removed_executor_id)) AS executor_id,
       assumeNotNull(max(executor_added_cores)) AS cores, assumeNotNull(max(executor_added_added_ms)) AS added_ms,
       max(executor_removed_removed_ms) AS removed_ms, max(executor_added_resource_profile_id) AS profile
FROM live
WHERE {_ATTEMPT} AND row IN ('executor_added', 'executor_removed')
GROUP BY executor_id
HAVING max(executor_added_cores) > 0 AND max(executor_added_added_ms) > 0
ORDER BY executor_id
"""
_SETTINGS = f"""
SELECT ifNull(application_started_master, '') AS master, application_started_configuration AS configuration
FROM application_rows
WHERE {_ATTEMPT} AND row = 'application_started'
ORDER BY row_epoch_ms DESC, row_seq DESC
LIMIT 1
"""


def allocation(client: Client, run: Run) -> Allocation | None:
    """Return what a run has been allocated so far; None if the store does not have it, as for runs of event logs.

    Raises StoreEmptyError.
    """
    until_ms = run.ended_ms or run.window_end_ms
    attempt = {"app_id": run.app_id, "app_start_ms": run.app_start_ms, "app_attempt": run.app_attempt}
    executors = select(client, _Executor, _EXECUTORS, attempt)
    if until_ms is None or not executors:
        return None
    memory = _memory_mib(fetch(client, _SETTINGS, attempt))
    sums = Sums()
    for each in executors:
        memory_mib = memory.get(each.executor_id == DRIVER) if (each.profile or 0) == DEFAULT_PROFILE else None
        sums = joined(sums, each.cores, memory_mib, min(each.added_ms, until_ms) - run.app_start_ms)
        if each.removed_ms:
            sums = left(sums, each.cores, memory_mib, min(each.removed_ms, until_ms) - run.app_start_ms)
    core_ms = sums.core_ms(until_ms - run.app_start_ms)
    return None if core_ms is None else Allocation(core_ms, sums.memory_mib_ms(until_ms - run.app_start_ms))


def _memory_mib(settings: list[dict[str, object]]) -> Mapping[bool, int | None]:
    """Return the memory of the driver (key true) and of an executor (key false); absent without a configuration."""
    found: dict[bool, int | None] = {}
    for row in settings:
        configuration = row["configuration"]
        if isinstance(configuration, dict):
            found[True] = driver_memory_mib(configuration)
            found[False] = executor_memory_mib(str(row["master"]), configuration)
    return found
