"""The outcomes of the advice for a job, derived from its stored runs and their configurations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.configuration import allowed_configuration
from sparkfuse_native_analytics.advice import Advice, advise
from sparkfuse_native_analytics.advice.advice_outcomes import AdviceOutcome, ConfiguredRun, outcomes
from sparkfuse_native_analytics.compare.run import Run
from sparkfuse_native_analytics.queries.comparable_run import comparable_run
from sparkfuse_native_analytics.queries.job_advice import MIN_COMPLETENESS
from sparkfuse_native_analytics.queries.job_history import PERIOD_MS
from sparkfuse_native_analytics.queries.select import fetch
from sparkfuse_rules.knowledge.money import cost
from sparkfuse_rules.prices import Prices

MAX_RUNS = 200


@dataclass(frozen=True)
class JobOutcomes:
    """The outcomes of the advice for a job: what is proposed now first, then the newest change.

    ``runs`` is the number of ended runs of the last 90 days with a known configuration, at most 200; ``left_out`` runs
    have none, because the store knows them only from event logs. Costs are in ``currency``, None if prices are off.
    """

    job_key: str
    runs: int
    left_out: int
    currency: str | None
    entries: list[AdviceOutcome]


_PLACES = """SELECT app_start_ms, app_id, app_attempt FROM job_runs
    WHERE job_key = {job_key:String} AND app_start_ms >= {since_ms:Int64}"""
_RUNS = f"""
SELECT resources.*, started.configuration AS configuration
FROM (
    SELECT app_id, app_start_ms, app_attempt, status, completeness, elapsed_ms, core_ms, memory_mib_ms, input_bytes
    FROM run_resources FINAL
    WHERE job_key = {{job_key:String}} AND (app_start_ms, app_id, app_attempt) IN ({_PLACES})
    ORDER BY app_start_ms DESC, app_id DESC, app_attempt DESC
    LIMIT {{limit:UInt32}}
) AS resources
LEFT JOIN (
    SELECT app_id, app_start_ms, app_attempt,
           argMax(application_started_configuration, (ifNull(row_epoch_ms, 0), row_seq)) AS configuration
    FROM application_rows
    WHERE row = 'application_started' AND (app_start_ms, app_id, app_attempt) IN ({_PLACES})
    GROUP BY app_id, app_start_ms, app_attempt
) AS started USING (app_id, app_start_ms, app_attempt)
ORDER BY app_start_ms, app_id, app_attempt
"""


def job_outcomes(
    client: Client, job_key: str, prices: Prices | None, now_ms: int, *, proposals: bool = True
) -> JobOutcomes | None:
    """Return the outcomes of the advice for a job; None if the store has no run of it in the last 90 days.

    Without ``proposals``, only advice that was applied is returned.

    Raises StoreEmptyError.
    """
    asked = {"job_key": job_key, "since_ms": now_ms - PERIOD_MS, "limit": MAX_RUNS}
    rows = fetch(client, _RUNS, asked)
    if not rows and not fetch(client, f"{_PLACES} LIMIT 1", asked):
        return None
    allows = allowed_configuration().allows
    known = [_run(row, {k: v for k, v in row["configuration"].items() if allows(k)}, prices) for row in rows]
    configured = [each for each in known if each.configuration]
    read = functools.cache(lambda app_id: comparable_run(client, app_id))  # changes can have runs in common
    return JobOutcomes(
        job_key=job_key,
        runs=len(configured),
        left_out=len(known) - len(configured),
        currency=prices.currency if prices else None,
        entries=outcomes(configured, lambda runs: _advice(runs, read), proposals=proposals),
    )


def _advice(runs: Sequence[ConfiguredRun], read: Callable[[str], Run | None]) -> list[Advice]:
    found = [read(each.app_id) for each in runs]
    return advise([each for each in found if each is not None])


def _run(row: dict[str, Any], configuration: dict[str, str], prices: Prices | None) -> ConfiguredRun:
    cores, memory = row["core_ms"], row["memory_mib_ms"]
    amount = None if cores is None or memory is None else cost(cores / 1000, memory / 1024 / 1000, prices)
    return ConfiguredRun(
        app_id=row["app_id"],
        started_ms=row["app_start_ms"],
        usable=row["status"] == "succeeded" and (row["completeness"] or 0) >= MIN_COMPLETENESS,
        configuration=configuration,
        elapsed_ms=row["elapsed_ms"],
        core_ms=cores,
        input_bytes=row["input_bytes"],
        cost=amount,
    )
