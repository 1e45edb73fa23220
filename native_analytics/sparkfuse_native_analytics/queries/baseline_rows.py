"""Reads baselines: the training samples of each stage of each job."""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.select import fetch, names
from sparkfuse_rules.knowledge.baseline_model import Sample
from sparkfuse_rules.knowledge.explanation import Explanation, explain
from sparkfuse_rules.knowledge.work import Work


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


def explained(baseline: Baseline, known_before_ms: int, work: Work | None = None) -> Explanation:
    """Return what a run that starts at ``known_before_ms`` is expected to take, by default for the usual work."""
    samples = [
        Sample(
            run_key=each.run_key or "",
            learned_ms=each.learned_ms or 0,
            wall_ms=-1 if each.wall_ms is None else each.wall_ms,
            cpu_ms=each.cpu_ms,
            work_bytes=each.work_bytes,
            work_records=each.work_records,
            num_tasks=each.num_tasks,
            abnormal=bool(each.abnormal),
            reference=bool(each.reference),
            slow_runs=each.slow_runs or 0,
            level_ratio=each.level_ratio,
            spark_version=each.spark_version,
            executors=each.executors,
            plan=each.plan,
            operator_rows=each.operator_rows,
            between_jobs_ms=each.between_jobs_ms,
            disk_spilled_bytes=each.disk_spilled_bytes,
        )
        for each in baseline.samples
    ]
    return explain(samples, known_before_ms, work)
