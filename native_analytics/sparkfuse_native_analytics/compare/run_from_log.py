"""Reads the event log of a run for a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sparkfuse_contracts.configuration import allowed_configuration
from sparkfuse_kernel.event_logs.log import Log
from sparkfuse_native_analytics.compare.run import Attempt, Executor, Query, Run, Stage
from sparkfuse_native_analytics.event_logs.table_rows import StageRow
from sparkfuse_native_analytics.offline.application import PROPERTIES, Application, read_application
from sparkfuse_native_analytics.offline.queries import elapsed_ms
from sparkfuse_rules.knowledge.fingerprint import normal_operators

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS = (
    "stage_id", "stage_attempt", "name", "sql_execution_id", "submitted_ms", "completed_ms", "first_launched_ms",
    "last_finished_ms", "wall_ms", "task_run_ms", "task_bytes", "biggest_task_bytes", "biggest_task_ms",
    "ended_wall_ms", "failed", "cpu_ns", "gc_ms", "fetch_wait_ms",
    "input_records", "shuffle_read_records", "shuffle_write_bytes", "output_bytes", "shuffle_write_records",
    "output_records", "tasks", "succeeded", "without_metrics",
)  # fmt: skip


def read_run(log: Log) -> Run:
    """Read the log of one application. Raises UnreadableLogError if the log cannot be opened or contains no event."""
    return run_of(read_application(log, environment=allowed_configuration().keys))


def run_of(application: Application) -> Run:
    """Build the run from the tables of an application; stages without a submission in the log are left out."""
    stages = application.tables["stages"].select(_COLUMNS).to_pylist()
    until = application.until_ms or 0
    started = application.started_ms if application.started_ms is not None else _first(stages, until)
    properties = _properties(application.tables["environment"])
    per_task = properties.get("spark.task.cpus", "")
    return Run(
        name=application.name or "",
        app_id=application.app_id or "",
        started_ms=started,
        ended_ms=max(until if application.ended_ms is None else application.ended_ms, started),
        stages=tuple(_stages(stages, application, until)),
        executors=tuple(_executors(application.tables["executors"])),
        plans=_plans(application.tables["plan_nodes"]),
        configuration=properties,
        limits=tuple(_limits(application, stages)),
        queries=_queries(application),
        slots_per_task=int(per_task) if per_task.isdecimal() and 0 < len(per_task) < 5 and int(per_task) else 1,
    )


def _stages(rows: list[StageRow], application: Application, until: int) -> Iterator[Stage]:
    """Yield one stage per stage id; stages with the same fingerprint are numbered in order of submission."""
    attempts: dict[int, list[tuple[StageRow, str]]] = {}
    for row, fingerprint in zip(rows, application.fingerprints, strict=True):
        if row["submitted_ms"] is not None:
            attempts.setdefault(row["stage_id"], []).append((row, fingerprint))
    seen: dict[str, int] = {}
    for stage_id, of_stage in sorted(attempts.items(), key=lambda each: (each[1][0][0]["submitted_ms"], each[0])):
        first, fingerprint = of_stage[0]
        seen[fingerprint] = seen.get(fingerprint, -1) + 1
        yield Stage(
            fingerprint=fingerprint,
            occurrence=seen[fingerprint],
            stage_id=stage_id,
            name=application.names.stage_name(stage_id) or "",
            sql_execution_id=first["sql_execution_id"],
            spark_name=first["name"] or "",
            attempts=tuple(_attempt(row, until) for row, _ in of_stage),
        )


def _queries(application: Application) -> Mapping[int, Query]:
    executions = {row["sql_execution_id"]: row for row in application.tables["sql_executions"].to_pylist()}
    return {
        query_id: Query(
            query_id,
            name.name,
            name.title,
            executions.get(query_id, {}).get("call_site"),
            elapsed_ms(executions.get(query_id, {}), application.until_ms),
        )
        for query_id, name in application.names.queries.items()
    }


def _attempt(row: StageRow, until: int) -> Attempt:
    """Build an attempt whose times are in order, so that no duration is negative if a clock was set back."""
    submitted = row["submitted_ms"] or 0
    completed = max(until if row["completed_ms"] is None else row["completed_ms"], submitted)
    launched = _within(row["first_launched_ms"], submitted, completed)
    finished = _within(row["last_finished_ms"], launched, completed)
    wall, run, read = (row[name] or {} for name in ("wall_ms", "task_run_ms", "task_bytes"))
    of_successful = _share_of_successful(row)
    return Attempt(
        attempt=row["stage_attempt"],
        submitted_ms=submitted,
        launched_ms=launched,
        finished_ms=finished,
        completed_ms=completed,
        tasks=_count(wall, "n"),
        wall_ms=_count(wall, "sum"),
        run_ms=_count(run, "sum"),
        median_wall_ms=float(_count(wall, "median")),
        longest_ms=_count(wall, "max"),
        median_bytes=float(_count(read, "median")),
        biggest_bytes=_count(row, "biggest_task_bytes"),
        biggest_ms=_count(row, "biggest_task_ms"),
        ended_wall_ms=_count(row, "ended_wall_ms"),
        failed=_count(row, "failed"),
        cpu_ms=of_successful("cpu_ns") // 1_000_000,
        gc_ms=of_successful("gc_ms"),
        fetch_wait_ms=of_successful("fetch_wait_ms"),
        read_bytes=_count(read, "sum"),
        read_records=of_successful("input_records", "shuffle_read_records"),
        written_bytes=of_successful("shuffle_write_bytes", "output_bytes"),
        written_records=of_successful("shuffle_write_records", "output_records"),
    )


def _share_of_successful(row: StageRow) -> Callable[..., int]:
    """Return a function that estimates how much of a sum belongs to successful task attempts.

    The kernel's sums include failed task attempts with metrics, although later attempts read their data again. The
    share of failed attempts in a sum is assumed to be proportional to their number.
    """
    measured = _count(row, "tasks") - _count(row, "without_metrics")
    succeeded = min(_count(row, "succeeded"), measured)
    return lambda *names: sum(_count(row, name) for name in names) * succeeded // max(measured, 1)


def _within(moment: int | None, earliest: int, latest: int) -> int:
    return earliest if moment is None else min(max(moment, earliest), latest)


def _count(row: Mapping[str, Any], name: str) -> Any:
    """Return a number of the row; 0 if the number is absent or negative."""
    return max(row.get(name) or 0, 0)


def _first(stages: list[StageRow], until: int) -> int:
    return min((row["submitted_ms"] for row in stages if row["submitted_ms"] is not None), default=until)


def _properties(environment: pa.Table) -> dict[str, str]:
    # The reader also returns the properties that identify the job, but only allowed properties are compared.
    allows = allowed_configuration().allows
    rows = environment.select(["section", "key", "value"]).to_pylist()
    return {row["key"]: row["value"] or "" for row in rows if row["section"] == PROPERTIES and allows(row["key"])}


def _executors(executors: pa.Table) -> Iterator[Executor]:
    for row in executors.select(["cores", "added_ms", "removed_ms"]).to_pylist():
        if row["added_ms"] is not None and (row["cores"] or 0) > 0:
            yield Executor(row["cores"], row["added_ms"], row["removed_ms"])


def _plans(plan_nodes: pa.Table) -> dict[int, list[str]]:
    """Return the node names of the final plan of each SQL execution, without the nodes that adaptive execution adds."""
    columns = ["sql_execution_id", "plan_version", "name"]
    plans: dict[tuple[int, int], list[str]] = {}
    for row in plan_nodes.select(columns).to_pylist():
        plans.setdefault((row["sql_execution_id"], row["plan_version"]), []).append(row["name"] or "")
    return {execution: list(normal_operators(plans[execution, version])) for execution, version in sorted(plans)}


def _limits(application: Application, stages: list[StageRow]) -> Iterator[str]:
    if application.started_ms is None:
        yield "The log has no start of the application, so its duration is counted from the first stage."
    if application.ended_ms is None:
        yield "The log has no end of the application, so its duration is counted up to the last event."
    if application.completeness < 1:
        yield "Parts of the log could not be read, so times and sums of this run are too low."
    lost = sum(row["submitted_ms"] is None for row in stages)
    if lost:
        yield f"The log has no submission of {lost} stages; they are left out, and their time counts as driver time."
    if not len(application.tables["executors"]):
        yield "The log has no executors, so capacity is the average number of busy task slots."
