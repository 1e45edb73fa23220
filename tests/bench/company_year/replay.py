"""Replays the runs of a simulated job through the functions that learn and evaluate baselines in production."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sparkfuse_native_analytics.offline.expectations import expected
from sparkfuse_rules.knowledge.baseline import Sample, fit, learn
from sparkfuse_rules.knowledge.training_samples import APPLICATION, application_sample, stage_sample
from tests.bench.company_year.job_year import START_UP_MS, JobYear

Columns = dict[str, Any]
# The time of a stage without input: tasks start, find nothing and end.
EMPTY_MS = 1_500


@dataclass(frozen=True)
class JudgedRow:
    """The last row of one stage of a run, or of the whole application, with its expected values."""

    job: int
    run: int
    application: bool
    columns: Mapping[str, Any]


def replay(place: int, job: JobYear) -> Iterator[JudgedRow]:
    """Yield the rows of all runs, in order; each is compared with the runs before it, then learned."""
    known: dict[str, tuple[Sample, ...]] = {}
    for run in range(job.runs):
        started_ms = int(job.start_ms[run])
        stages = [_stage_row(job, run, stage) for stage in range(len(job.shapes))]
        application = _application_row(job, run, stages)
        ended_ms = started_ms + application["elapsed_ms"]
        run_key = f"{job.number}/{run}"
        rows = [(_fingerprint(job, run, stage), row) for stage, row in enumerate(stages)]
        for key, row in [*rows, (f"{job.name[run]}/{APPLICATION}", application)]:
            whole = row is application
            fitted = fit(known.get(key, ()), started_ms)
            columns = expected(fitted, row, running=False)
            if columns and not whole:
                columns["judged_ms"] = row["elapsed_ms"]
            yield JudgedRow(place, run, whole, row | columns)
            sample = (application_sample if whole else stage_sample)(run_key, 1.0, row, ended_ms)
            if sample is not None:
                known[key] = learn(known.get(key, ()), sample, fitted=fitted)


def _fingerprint(job: JobYear, run: int, stage: int) -> str:
    return f"{job.name[run]}/{stage}/{job.plan[run, stage]}"


def _stage_row(job: JobYear, run: int, stage: int) -> Columns:
    shape, real = job.shapes[stage], job.shapes[stage].real
    work = 0.0 if job.empty[run] else float(job.work[run])
    usual_s = shape.base_ms / 1000
    clean_ms = EMPTY_MS if job.empty[run] else shape.time_ms(work)
    wall_ms = max(1, round(clean_ms * float(job.wall[run, stage])))
    records = round(real.records_per_s * usual_s * work)
    return {
        "status": "succeeded",
        "elapsed_ms": wall_ms,
        "finished_cpu_ms": max(1, round(clean_ms * real.cpu_ratio * float(job.cpu[run, stage]))),
        "work_bytes": round(real.bytes_per_s * usual_s * work),
        "work_records": records,
        "operator_rows_max": round(real.rows_per_s * usual_s * work) or None,
        "num_tasks": real.tasks,
        "succeeded_tasks": real.tasks,
        "finished_tasks": real.tasks,
        "running_tasks": 0,
        "finished_duration_ms": wall_ms * min(real.tasks, 8),
        "stage_attempt": 0,
        "disk_spilled_bytes": 0,
    }


def _application_row(job: JobYear, run: int, stages: list[Columns]) -> Columns:
    between_ms = math.ceil(float(job.gap_ms[run]))
    rows = sum(
        stage["operator_rows_max"] or 0 for stage in stages if not stage["work_bytes"] and not stage["work_records"]
    )
    return {
        "status": "succeeded",
        "elapsed_ms": round(START_UP_MS) + between_ms + sum(stage["elapsed_ms"] for stage in stages),
        "finished_cpu_ms": sum(stage["finished_cpu_ms"] for stage in stages),
        "work_bytes": sum(stage["work_bytes"] for stage in stages),
        "work_records": sum(stage["work_records"] for stage in stages),
        "operator_rows": rows or None,
        "num_tasks": sum(stage["num_tasks"] for stage in stages),
        "finished_tasks": sum(stage["num_tasks"] for stage in stages),
        "between_jobs_ms": between_ms,
    }
