"""What the ended runs of teams and jobs cost over a period, and which part of it was wasted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.select import fetch
from sparkfuse_rules.knowledge.money import cost
from sparkfuse_rules.prices import Prices

TEAM, JOB = "team", "job"
MIN_COMPLETENESS = 0.99
_CORE_MS_PER_HOUR = 3_600_000
_MIB_MS_PER_GIB_HOUR = 1024 * 3_600_000
_PARTS = ("failed", "idle", "retried")


@dataclass(frozen=True)
class Waste:
    """A part of the allocation that produced nothing: core-hours, and money (None if it is unknown)."""

    core_hours: float
    cost: float | None


@dataclass(frozen=True)
class CostRow:
    """The ended runs of a team or of a job that started in the period.

    ``name`` is the team or the job key; an empty team has the runs of jobs without a team. ``team`` is that of the
    newest run. ``core_hours`` and ``gib_hours`` are those of executors. ``unpriced_runs`` have no known allocation, so
    they are in no sum of money; ``cost`` is None if no run has a known one or if prices are off. ``failed`` is the
    whole allocation of failed runs; ``idle`` are cores without a task and ``retried`` are tasks that failed, were
    killed or ran again, both of runs that succeeded and have complete data. ``waste`` is the sum of the three;
    ``waste_share`` is its share of the core-hours, None without core-hours.
    """

    name: str
    team: str
    runs: int
    failed_runs: int
    unpriced_runs: int
    core_hours: float
    gib_hours: float
    cost: float | None
    waste: Waste
    waste_share: float | None
    failed: Waste
    idle: Waste
    retried: Waste
    disk_spilled_bytes: int


@dataclass(frozen=True)
class Costs:
    """Costs since ``since_ms`` (ms since the epoch) by team or by job, the largest waste first.

    ``total`` has all runs, also those of rows that are not listed; ``rows_total`` is the number of all teams or jobs.
    Money is in ``currency``, at the prices that apply now; both are None if prices are off. Only runs that ended are
    counted; a run is counted about ten minutes after its end.
    """

    by: str
    since_ms: int
    team: str
    currency: str | None
    prices: str | None
    total: CostRow
    rows: list[CostRow]
    rows_total: int


# A run whose memory is unknown has core time, but no price.
_OF_RUN = f"""
SELECT if({{by_job:UInt8}} = 1, job_key, team) AS name, team AS of_team, app_start_ms,
       status = 'failed' AS failed, ifNull(core_ms, 0) AS cores,
       ifNull(memory_mib_ms, 0) AS memory, memory_mib_ms IS NOT NULL AND cores > 0 AS priced,
       if(priced, cores, 0) AS priced_cores, if(priced, memory, 0) AS priced_memory,
       status = 'succeeded' AND ifNull(completeness, 0) >= {MIN_COMPLETENESS} AS complete,
       least(cores, greatest(0, ifNull(busy_core_ms, 0))) AS busy,
       if(failed, cores, 0) AS failed_cores,
       if(complete, cores - busy, 0) AS idle_cores,
       if(complete, least(busy, greatest(0, ifNull(retried_core_ms, 0))), 0) AS retried_cores,
       greatest(0, ifNull(disk_spilled_bytes, 0)) AS spilled
FROM run_resources FINAL
WHERE app_start_ms >= {{since_ms:Int64}} AND ({{team:String}} = '' OR team = {{team:String}})
"""


def _sums(part: str) -> str:
    """Return the sums of a part of the waste: all core time, core time with a price, and its share of the memory."""
    cores = f"{part}_cores"
    return (
        f"sum({cores}) AS {part}_core_ms, sum(if(priced, {cores}, 0)) AS {part}_priced_core_ms, "
        f"sum(if(priced, {cores} / cores * priced_memory, 0)) AS {part}_priced_memory_ms"
    )


# The row of the whole period is the first one; its ``names`` is the number of teams or jobs.
_COSTS = f"""
SELECT grouping(name) AS of_all, name, uniqExact(name) AS names, argMax(of_team, app_start_ms) AS team,
       count() AS runs, countIf(failed) AS failed_runs, countIf(NOT priced) AS unpriced_runs, sum(cores) AS core_ms,
       sum(memory) AS memory_ms, sum(priced_cores) AS priced_core_ms, sum(priced_memory) AS priced_memory_ms,
       {", ".join(map(_sums, _PARTS))}, sum(spilled) AS disk_spilled_bytes
FROM ({_OF_RUN})
GROUP BY GROUPING SETS ((name), ())
ORDER BY of_all DESC, {{core_price:Float64}} * ({" + ".join(f"{part}_priced_core_ms" for part in _PARTS)})
       + {{memory_price:Float64}} * ({" + ".join(f"{part}_priced_memory_ms" for part in _PARTS)}) DESC,
         {" + ".join(f"{part}_core_ms" for part in _PARTS)} DESC, core_ms DESC, name
LIMIT {{rows:UInt32}}
"""


def costs(client: Client, prices: Prices | None, by: str, since_ms: int, *, team: str = "", limit: int = 50) -> Costs:
    """Return the costs of the runs that started at ``since_ms`` (ms since the epoch) or later, by team or by job.

    An empty ``team`` selects all teams; at most ``limit`` rows are returned.

    Raises StoreEmptyError.
    """
    asked = {
        "by_job": int(by == JOB),
        "since_ms": since_ms,
        "team": team,
        "core_price": prices.core_hour if prices else 0.0,
        "memory_price": prices.gib_hour / 1024 if prices else 0.0,
        "rows": limit + 1,
    }
    found = fetch(client, _COSTS, asked)
    total = next((row for row in found if row["of_all"]), None)
    return Costs(
        by=by,
        since_ms=since_ms,
        team=team,
        currency=prices.currency if prices else None,
        prices=prices.source if prices else None,
        total=_row(total, prices) if total else _NOTHING,
        rows=[_row(row, prices) for row in found if not row["of_all"]],
        rows_total=total["names"] if total and total["runs"] else 0,
    )


_NONE = Waste(0.0, None)
_NOTHING = CostRow("", "", 0, 0, 0, 0.0, 0.0, None, _NONE, None, _NONE, _NONE, _NONE, 0)


def _row(row: Mapping[str, Any], prices: Prices | None) -> CostRow:
    priced = row["runs"] > row["unpriced_runs"]
    parts = {part: _waste(row, part, prices if priced else None) for part in _PARTS}
    core_hours, wasted = row["core_ms"] / _CORE_MS_PER_HOUR, sum(each.core_hours for each in parts.values())
    money = [each.cost for each in parts.values() if each.cost is not None]
    return CostRow(
        name=row["name"],
        team=row["team"],
        runs=row["runs"],
        failed_runs=row["failed_runs"],
        unpriced_runs=row["unpriced_runs"],
        core_hours=core_hours,
        gib_hours=row["memory_ms"] / _MIB_MS_PER_GIB_HOUR,
        cost=_money(row["priced_core_ms"], row["priced_memory_ms"], prices) if priced else None,
        waste=Waste(wasted, sum(money) if money else None),
        waste_share=wasted / core_hours if core_hours else None,
        disk_spilled_bytes=row["disk_spilled_bytes"],
        **parts,
    )


def _waste(row: Mapping[str, Any], part: str, prices: Prices | None) -> Waste:
    amount = _money(row[f"{part}_priced_core_ms"], row[f"{part}_priced_memory_ms"], prices)
    return Waste(row[f"{part}_core_ms"] / _CORE_MS_PER_HOUR, amount)


def _money(core_ms: float, memory_mib_ms: float, prices: Prices | None) -> float | None:
    """Return what core time and memory time cost; a part of a run that used nothing costs 0, which is known."""
    if prices is None:
        return None
    return cost(core_ms / 1000, memory_mib_ms / 1024 / 1000, prices) or 0.0
