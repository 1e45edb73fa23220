"""The view stage_live at rest: the columns that the windows job has at a stage's end, by the same formulas.

What the fold in stream_jobs/flink-functions (Stage, StageRows) makes of facts, this makes of the kernel's table of
stages. Quantiles are exact here and sketches there; columns that only a running stage has are NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparkfuse_contracts.columns import view_specs

VIEW = "stage_live"
_AS_THEY_ARE = (
    "stage_id", "stage_attempt", "name", "num_tasks", "status", "submitted_ms", "completed_ms", "job_id",
    "sql_execution_id", "failure_reason", "biggest_task_index", "biggest_task_bytes", "biggest_task_ms",
)  # fmt: skip
_RENAMED = {
    "finished_tasks": "tasks",
    "succeeded_tasks": "succeeded",
    "failed_tasks": "failed",
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
    # Nothing runs at rest, so the totals are those of ended tasks.
    "disk_spilled_bytes": "disk_spilled_bytes",
    "memory_spilled_bytes": "memory_spilled_bytes",
}


def stage_rows(stages: Any, until_ms: int | None) -> Any:
    """The rows of stage_live, one for each row of the kernel's table of stages, in its order.

    ``stages`` and the result are Arrow tables; ``until_ms`` is the last moment that the log tells of, up to which a
    stage without an end is taken to run. The columns of baselines and fingerprints are left NULL.
    """
    import pyarrow as pa

    columns = _columns(stages, until_ms)
    whole, broken, text, flag = pa.int64(), pa.float64(), pa.string(), pa.bool_()
    types = {"int32": whole, "int64": whole, "double": broken, "bool": flag, "string": text}

    def array(name: str, kind: Any) -> Any:
        # What does not fit is a hostile log's; it must not stop the analysis.
        return columns[name].cast(kind, safe=False) if name in columns else pa.nulls(len(stages), kind)

    return pa.table({name: array(name, types[column.type]) for name, column in view_specs()[VIEW].columns.items()})


def completeness(stages: Any, of_log: float) -> list[float]:
    """For each stage the share of its evidence that is there: that of the log, less what its own task ends lack.

    A stage that ended well and has fewer ends than tasks lost some; one with more counted some twice, which is none.
    """
    columns = [stages[name].to_pylist() for name in ("status", "num_tasks", "succeeded", "failed", "speculative")]
    return [_completeness(of_log, *row) for row in zip(*columns, strict=True)]


def with_columns(rows: Any, added: Sequence[dict[str, Any]]) -> Any:
    """The rows with some columns filled from one mapping for each row; what a mapping lacks is NULL."""
    import pyarrow as pa

    for name in dict.fromkeys(name for each in added for name in each):
        values = pa.array([each.get(name) for each in added], rows.schema.field(name).type)
        rows = rows.set_column(rows.schema.get_field_index(name), name, values)
    return rows


def _columns(stages: Any, until_ms: int | None) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {name: stages[name] for name in _AS_THEY_ARE}
    columns |= {name: stages[source] for name, source in _RENAMED.items()}
    until = pa.scalar(until_ms, pa.int64())
    elapsed = pc.subtract(pc.coalesce(stages["completed_ms"], until), stages["submitted_ms"])
    columns["elapsed_ms"] = elapsed = pc.max_element_wise(elapsed, 0, skip_nulls=False)
    columns["finished_cpu_ms"] = pc.divide(stages["cpu_ns"], 1_000_000)
    columns["work_bytes"] = pc.add(stages["input_bytes"], stages["shuffle_read_bytes"])
    columns["work_records"] = pc.add(stages["input_records"], stages["shuffle_read_records"])
    columns |= _spread(stages["wall_ms"], "duration_p50_ms", "duration_p95_ms", "duration_max_ms")
    columns |= _spread(stages["task_bytes"], "task_bytes_p50", "task_bytes_p95", "task_bytes_max")
    columns |= _loss(stages, columns["duration_p50_ms"], columns["task_bytes_p50"], elapsed)
    return columns


def _spread(distribution: Any, median: str, p95: str, largest: str) -> dict[str, Any]:
    import pyarrow.compute as pc

    names = {median: "median", p95: "p95", largest: "max"}
    return {name: pc.struct_field(distribution, source) for name, source in names.items()}


def _loss(stages: Any, median_ms: Any, median_bytes: Any, elapsed: Any) -> dict[str, Any]:
    """How much the biggest task stands out, and what it costs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    biggest_bytes, biggest_ms = stages["biggest_task_bytes"], stages["biggest_task_ms"]
    lost = pc.trunc(pc.subtract(biggest_ms.cast(pa.float64()), median_ms))
    lost = pc.max_element_wise(lost, 0.0, skip_nulls=False)
    elapsed_or_null = pc.if_else(pc.greater(elapsed, 0), elapsed, pa.scalar(None, pa.int64()))
    return {
        "bytes_ratio": pc.divide(pc.add(biggest_bytes.cast(pa.float64()), 1.0), pc.add(median_bytes, 1.0)),
        "lost_ms": lost,
        "lost_share": pc.divide(lost, elapsed_or_null.cast(pa.float64())),
    }


def _completeness(
    of_log: float, status: str | None, tasks: int | None, succeeded: int, failed: int, speculative: int
) -> float:
    if status != "succeeded" or not tasks:
        return of_log
    # A task that Spark took back (Resubmitted, counted as failed) succeeds twice: only what is beyond that is double.
    if succeeded - failed - speculative > tasks:
        return 0.0
    return min(of_log, succeeded / tasks)
