"""Compares two runs of the store: reads each in the form that a comparison uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.configuration import allowed_configuration
from sparkfuse_native_analytics.compare import compare
from sparkfuse_native_analytics.compare.document import document
from sparkfuse_native_analytics.compare.run import Attempt, Executor, Query, Run, Stage
from sparkfuse_native_analytics.queries.executor_rows import executors
from sparkfuse_native_analytics.queries.run_rows import RUNNING, RunDetails
from sparkfuse_native_analytics.queries.run_rows import run as run_details
from sparkfuse_native_analytics.queries.select import fetch

MAX_EXECUTORS = 10_000
# A row without a fingerprint is matched by Spark's name of the stage.
_SUMS = """
SELECT assumeNotNull(stage_id) AS stage_id, assumeNotNull(stage_attempt) AS stage_attempt, stage_fingerprint,
       succeeded_tasks, finished_tasks, finished_duration_ms, finished_run_ms, duration_p50_ms, duration_max_ms,
       task_bytes_p50, biggest_task_bytes, biggest_task_ms, failed_tasks, finished_cpu_ms, finished_gc_ms,
       finished_fetch_wait_ms, finished_input_bytes, finished_shuffle_read_bytes, finished_input_records,
       finished_shuffle_read_records, finished_shuffle_write_bytes, finished_output_bytes,
       finished_shuffle_write_records, finished_output_records
FROM best_stages
WHERE app_id = {app_id:String} AND app_start_ms = {app_start_ms:Int64} AND app_attempt = {app_attempt:Int32}
"""
_CONFIGURATION = """
SELECT application_started_configuration AS configuration FROM application_rows
WHERE app_id = {app_id:String} AND app_start_ms = {app_start_ms:Int64} AND app_attempt = {app_attempt:Int32}
  AND row = 'application_started'
ORDER BY row_epoch_ms DESC, row_seq DESC
LIMIT 1
"""
_NO_TASK_TIMES = (
    "The store has no times of single tasks, so waiting for the first task counts as time of the stage's tasks."
)


def stored_comparison(client: Client, before: str, after: str) -> dict[str, Any] | None:
    """Compare two runs of the store; None if the store lacks one of them. ``log`` is the application id.

    Raises StoreEmptyError.
    """
    one, other = comparable_run(client, before), comparable_run(client, after)
    return None if one is None or other is None else document(compare(one, other), before, after)


def comparable_run(client: Client, app_id: str) -> Run | None:
    """Return the latest attempt of an application for `compare`; None if the store does not have it.

    Stages that have not ended are left out. The store has neither times of single tasks nor plans, so a comparison of
    stored runs has no part ``waiting`` and no changes of plan nodes; ``limits`` of the run names what is missing.

    Raises StoreEmptyError.
    """
    details = run_details(client, app_id)
    return None if details is None else comparable(client, details)


def comparable(client: Client, details: RunDetails) -> Run:
    """Return a run that was read already for `compare`, like `comparable_run`. Raises StoreEmptyError."""
    run = details.run
    attempt = {"app_id": run.app_id, "app_start_ms": run.app_start_ms, "app_attempt": run.app_attempt}
    stages = tuple(_stages(details, fetch(client, _SUMS, attempt)))
    properties = _properties(fetch(client, _CONFIGURATION, attempt))
    per_task = properties.get("spark.task.cpus", "")
    used = tuple(
        Executor(each.cores, each.added_ms, each.removed_ms)
        for each in executors(client, run, MAX_EXECUTORS)
        if each.added_ms is not None and (each.cores or 0) > 0 and each.cores is not None
    )
    ended_ms = run.ended_ms or run.window_end_ms or _last(stages, run.app_start_ms)
    return Run(
        name=run.name or "",
        app_id=run.app_id,
        started_ms=run.app_start_ms,
        ended_ms=max(ended_ms, run.app_start_ms),
        stages=stages,
        executors=used,
        configuration=properties,
        limits=tuple(_limits(details, stages, has_executors=bool(used), has_configuration=bool(properties))),
        slots_per_task=int(per_task) if per_task.isdecimal() and 0 < len(per_task) < 5 and int(per_task) else 1,
        queries={
            each.query_id: Query(
                each.query_id, each.name or f"q{each.query_id}", each.title or "", each.call_site, each.elapsed_ms
            )
            for each in details.queries
        },
    )


def _stages(details: RunDetails, sums: Iterable[Mapping[str, Any]]) -> Iterator[Stage]:
    """Yield one stage per stage id; stages with the same fingerprint are numbered in order of submission."""
    by_key = {(row["stage_id"], row["stage_attempt"]): row for row in sums}
    known = [
        (each, by_key[each.stage_id, each.stage_attempt])
        for each in details.stages
        if (each.stage_id, each.stage_attempt) in by_key and each.submitted_ms is not None
    ]
    seen: dict[str, int] = {}
    for stage_id in dict.fromkeys(
        each.stage_id for each, _ in sorted(known, key=lambda pair: (pair[0].submitted_ms or 0, pair[0].stage_id))
    ):
        of_stage = [(each, row) for each, row in known if each.stage_id == stage_id]
        first, row = of_stage[0]
        fingerprint = first.stage_fingerprint or row["stage_fingerprint"] or first.name or str(stage_id)
        seen[fingerprint] = seen.get(fingerprint, -1) + 1
        yield Stage(
            fingerprint=fingerprint,
            occurrence=seen[fingerprint],
            stage_id=stage_id,
            name=first.stage_name or first.name or "",
            sql_execution_id=first.sql_execution_id,
            spark_name=first.name or "",
            attempts=tuple(_attempt(each.submitted_ms or 0, each.completed_ms, row) for each, row in of_stage),
        )


def _attempt(submitted_ms: int, completed_ms: int | None, row: Mapping[str, Any]) -> Attempt:
    """Build an attempt; the store has no times of tasks, so its tasks run from its submission to its completion."""
    completed = max(submitted_ms if completed_ms is None else completed_ms, submitted_ms)
    tasks = _count(row, "finished_tasks") if row["succeeded_tasks"] is None else _count(row, "succeeded_tasks")
    wall = _count(row, "finished_duration_ms")
    return Attempt(
        attempt=row["stage_attempt"],
        submitted_ms=submitted_ms,
        launched_ms=submitted_ms,
        finished_ms=completed,
        completed_ms=completed,
        tasks=tasks,
        wall_ms=wall,
        run_ms=_count(row, "finished_run_ms"),
        median_wall_ms=float(_count(row, "duration_p50_ms")),
        longest_ms=_count(row, "duration_max_ms"),
        median_bytes=float(_count(row, "task_bytes_p50")),
        biggest_bytes=_count(row, "biggest_task_bytes"),
        biggest_ms=_count(row, "biggest_task_ms"),
        ended_wall_ms=wall,
        failed=_count(row, "failed_tasks"),
        cpu_ms=_count(row, "finished_cpu_ms"),
        gc_ms=_count(row, "finished_gc_ms"),
        fetch_wait_ms=_count(row, "finished_fetch_wait_ms"),
        read_bytes=_count(row, "finished_input_bytes", "finished_shuffle_read_bytes"),
        read_records=_count(row, "finished_input_records", "finished_shuffle_read_records"),
        written_bytes=_count(row, "finished_shuffle_write_bytes", "finished_output_bytes"),
        written_records=_count(row, "finished_shuffle_write_records", "finished_output_records"),
    )


def _count(row: Mapping[str, Any], *names: str) -> int:
    """Return the sum of the numbers of a row; absent and negative numbers are 0."""
    return sum(int(max(row[name] or 0, 0)) for name in names)


def _last(stages: tuple[Stage, ...], started_ms: int) -> int:
    return max((each.completed_ms for stage in stages for each in stage.attempts), default=started_ms)


def _properties(rows: list[dict[str, Any]]) -> dict[str, str]:
    allows = allowed_configuration().allows
    return {key: value for row in rows for key, value in row["configuration"].items() if allows(key)}


def _limits(
    details: RunDetails, stages: tuple[Stage, ...], *, has_executors: bool, has_configuration: bool
) -> Iterator[str]:
    run = details.run
    if stages:
        yield _NO_TASK_TIMES
    if run.status == RUNNING:
        yield "The run has not ended, so stages that are still running are left out."
    if run.completeness is None or run.completeness < 1:
        known = "unknown" if run.completeness is None else f"{run.completeness:.3f}"
        yield f"The completeness of this run is {known}, so times and sums may be too low."
    if not has_executors:
        yield "The store has no executors of this run, so capacity is the average number of busy task slots."
    if not has_configuration:
        yield "The store has no configuration of this run, so changed properties are not known."
