"""Reads baselines: the training samples of each stage of each job."""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.select import fetch, names


@dataclass(frozen=True)
class BaselineSample:
    """The sample of one earlier run."""

    run_key: str | None = None
    learned_ms: int | None = None
    wall_ms: int | None = None
    cpu_ms: int | None = None
    work_bytes: int | None = None
    work_records: int | None = None
    num_tasks: int | None = None
    abnormal: bool | None = None
    operator_rows: int | None = None
    between_jobs_ms: int | None = None
    disk_spilled_bytes: int | None = None
    reference: bool | None = None
    slow_runs: int | None = None
    level_ratio: float | None = None
    spark_version: str | None = None
    executors: int | None = None
    plan: str | None = None


@dataclass(frozen=True)
class Baseline:
    """The samples of one stage of one job, oldest first; for the whole application, the fingerprint is ``application``.

    ``level_changed_ms`` is the last time at which the samples of three runs at a new level replaced all earlier
    samples.
    """

    job_key: str
    stage_fingerprint: str
    stage_name: str | None
    updated_ms: int
    samples: list[BaselineSample]
    cluster: str | None = None
    tenant: str | None = None
    level_changed_ms: int | None = None
    accepted_ms: int | None = None


_BASELINES = f"""
SELECT {names(Baseline)} FROM baselines FINAL
WHERE {{job_key:String}} = '' OR job_key = {{job_key:String}}
ORDER BY job_key, stage_fingerprint
LIMIT {{limit:UInt32}}
"""


def baselines(client: Client, limit: int = 1000, *, job_key: str | None = None) -> list[Baseline]:
    """Return baselines, sorted by job and stage.

    Raises StoreEmptyError.
    """
    rows = fetch(client, _BASELINES, {"job_key": job_key or "", "limit": limit})
    return [Baseline(**{**row, "samples": [BaselineSample(**each) for each in row["samples"]]}) for row in rows]
