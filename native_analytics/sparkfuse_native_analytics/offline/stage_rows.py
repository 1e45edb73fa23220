"""Computes the view stage_live from an event log: the columns that the windows job emits at the end of a stage.

The windows job computes these columns from facts (stream_jobs/flink-functions). This module uses the same formulas on
the kernel's table of stages. Quantiles are exact in this module; the windows job estimates quantiles with sketches.
Columns that exist only while a stage runs are NULL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sparkfuse_contracts.columns import view_specs

VIEW = "stage_live"
LARGEST = 2**63 - 1
_COPIED = (
    "stage_id", "stage_attempt", "name", "num_tasks", "status", "submitted_ms", "completed_ms", "job_id",
    "sql_execution_id", "failure_reason", "biggest_task_index", "biggest_task_bytes", "biggest_task_ms",
    "slowest_task_index", "slowest_task_ms", "slowest_task_bytes", "slowest_task_gc_ms", "slowest_task_executor_id",
    "slowest_task_host", "operator_rows_max",
)  # fmt: skip
_RENAMED = {
    "succeeded_tasks": "succeeded",
    "killed_tasks": "killed",
    "speculative_tasks": "speculative",
    "finished_run_ms": "run_ms",
    "finished_gc_ms": "gc_ms",
    "finished_input_bytes": "input_bytes",
    "finished_input_records": "input_records",
    "finished_shuffle_read_bytes": "shuffle_read_bytes",
    "finished_shuffle_read_records": "shuffle_read_records",
    "finished_fetch_wait_ms": "fetch_wait_ms",
    "finished_shuffle_write_bytes": "shuffle_write_bytes",
    "finished_shuffle_write_records": "shuffle_write_records",
    "finished_output_bytes": "output_bytes",
    "finished_output_records": "output_records",
    "finished_memory_spilled_bytes": "memory_spilled_bytes",
    "finished_disk_spilled_bytes": "disk_spilled_bytes",
    "finished_spilled_tasks": "spilled_tasks",
    "finished_spilled_duration_ms": "spilled_wall_ms",
    "finished_duration_ms": "ended_wall_ms",
    "fetch_failed_tasks": "fetch_failed",
    "lost_tasks": "lost",
    "resubmitted_tasks": "resubmitted",
    # An event log does not report running tasks, so totals include only ended tasks.
    "disk_spilled_bytes": "disk_spilled_bytes",
    "memory_spilled_bytes": "memory_spilled_bytes",
}


def stage_rows(stages: Any, until_ms: int | None) -> Any:
    """Return the rows of stage_live, one for each row of the kernel's table of stages, in the same order.

    ``stages`` and the result are Arrow tables. ``until_ms`` is the last time in the log; a stage without an end counts
    as running until this time. The columns that baselines fill, fingerprints and names are NULL.
    """
    import pyarrow as pa

    columns = _columns(stages, until_ms)

    def array(name: str, kind: Any) -> Any:
        if name not in columns:
            return pa.nulls(len(stages), kind)
        found = columns[name]
        if not isinstance(found, list):
            return found
        # Arrow rejects integers that a double cannot represent exactly.
        is_double = kind == pa.float64()
        return pa.array([None if each is None else float(each) for each in found] if is_double else found, kind)

    types = arrow_types()
    return pa.table({name: array(name, types[column.type]) for name, column in view_specs()[VIEW].columns.items()})


def arrow_types() -> dict[str, Any]:
    """Return the Arrow type for each type of the contract; all integers have 64 bits, as in the kernel."""
    import pyarrow as pa

    return {
        "int32": pa.int64(), "int64": pa.int64(), "double": pa.float64(), "bool": pa.bool_(), "string": pa.string(),
    }  # fmt: skip


def completeness(stages: Any, of_log: float) -> list[float]:
    """Return the completeness of each stage, from 0 to 1: that of the log, or less if task ends are missing.

    If a successful stage has fewer task ends than tasks, task ends were lost. If a stage has more task ends than tasks,
    some were counted twice, and the completeness of the stage is 0.
    """
    columns = [stages[name].to_pylist() for name in ("status", "num_tasks", "succeeded", "failed", "speculative")]
    return [_completeness(of_log, *row) for row in zip(*columns, strict=True)]


def with_columns(rows: Any, added: Sequence[Mapping[str, Any]]) -> Any:
    """Return the rows with columns replaced by those in ``added``, one mapping per row; absent keys become NULL."""
    import pyarrow as pa

    for name in dict.fromkeys(name for each in added for name in each):
        values = pa.array([each.get(name) for each in added], rows.schema.field(name).type)
        rows = rows.set_column(rows.schema.get_field_index(name), name, values)
    return rows


def _columns(stages: Any, until_ms: int | None) -> dict[str, Any]:
    """Return the columns that an event log can fill: Arrow columns of the kernel, and lists for computed columns."""
    columns: dict[str, Any] = {name: stages[name] for name in _COPIED}
    columns |= {name: stages[source] for name, source in _RENAMED.items()}
    # Spark has no accumulator for the results of a stage without results.
    columns["result_bytes"] = [size or None for size in stages["result_bytes"].to_pylist()]
    durations, sizes = _spread(stages["wall_ms"]), _spread(stages["task_bytes"])
    columns |= dict(zip(("duration_p50_ms", "duration_p95_ms", "duration_max_ms"), durations, strict=True))
    columns |= dict(zip(("task_bytes_p50", "task_bytes_p95", "task_bytes_max"), sizes, strict=True))
    inputs = {name: stages[name].to_pylist() for name in _COMPUTED_FROM}
    rows = zip(*inputs.values(), durations[0], sizes[0], strict=True)
    computed = [
        _computed(dict(zip((*inputs, "median_ms", "median_bytes"), row, strict=True)), until_ms) for row in rows
    ]
    return columns | {name: [row[name] for row in computed] for name in _COMPUTED}


_COMPUTED_FROM = (
    "tasks", "failed", "resubmitted", "submitted_ms", "completed_ms", "cpu_ns", "input_bytes", "shuffle_read_bytes",
    "input_records",
    "shuffle_read_records", "biggest_task_bytes", "biggest_task_ms", "slowest_task_bytes", "slowest_task_ms",
)  # fmt: skip
# Columns that compare a task with the median task: the prefix of the input columns, and the names of the results.
_TASKS = (
    ("biggest_task", "bytes_ratio", "lost_ms", "lost_share"),
    ("slowest_task", "slowest_task_bytes_ratio", "slowest_task_lost_ms", "slowest_task_lost_share"),
)
_COMPUTED = (
    "finished_tasks", "failed_tasks", "elapsed_ms", "finished_cpu_ms", "work_bytes", "work_records",
    *(name for task in _TASKS for name in task[1:]),
)  # fmt: skip


def _computed(of: dict[str, Any], until_ms: int | None) -> dict[str, Any]:
    """Return the computed columns of one row, with the formulas of Stage.java and StageRows.java in flink-functions."""
    row: dict[str, Any] = dict.fromkeys(_COMPUTED)
    end_ms = until_ms if of["completed_ms"] is None else of["completed_ms"]
    if end_ms is not None and of["submitted_ms"] is not None:
        row["elapsed_ms"] = clamp_int64(max(0, end_ms - of["submitted_ms"]))
    # An end with the reason Resubmitted is a second report for an attempt that has already ended, so it is not counted.
    row["finished_tasks"] = of["tasks"] - of["resubmitted"]
    row["failed_tasks"] = of["failed"] - of["resubmitted"]
    row["finished_cpu_ms"] = of["cpu_ns"] // 1_000_000
    row["work_bytes"] = clamp_int64(of["input_bytes"] + of["shuffle_read_bytes"])
    row["work_records"] = clamp_int64(of["input_records"] + of["shuffle_read_records"])
    for task, ratio, lost, share in _TASKS:
        if of[f"{task}_bytes"] is not None and of["median_bytes"] is not None:
            row[ratio] = (of[f"{task}_bytes"] + 1.0) / (of["median_bytes"] + 1.0)
        if of[f"{task}_ms"] is not None and of["median_ms"] is not None:
            row[lost] = clamp_int64(max(0, int(of[f"{task}_ms"] - of["median_ms"])))
            if row["elapsed_ms"]:
                row[share] = row[lost] / row["elapsed_ms"]
    return row


def _spread(distribution: Any) -> tuple[list[Any], ...]:
    """Return the median, 95th percentile and maximum of each value of a column of distributions."""
    flat = distribution.combine_chunks()
    return tuple(flat.field(name).to_pylist() for name in ("median", "p95", "max"))


def clamp_int64(number: int) -> int:
    """Return the number limited to 64 bits, because sums of a corrupt log can be larger."""
    return max(-LARGEST, min(number, LARGEST))


def _completeness(
    of_log: float, status: str | None, tasks: int | None, succeeded: int, failed: int, speculative: int
) -> float:
    if status != "succeeded" or not tasks:
        return of_log
    # A task that was resubmitted counts as failed and succeeds twice; only further successes are duplicates.
    if succeeded - failed - speculative > tasks:
        return 0.0
    return min(of_log, succeeded / tasks)
