"""Types of the rows that `to_pylist` returns for the kernel's tables of an event log.

`_kernel.pyi` describes each column. Times are ms since the epoch. A value that the log does not contain is None.
"""

from __future__ import annotations

from typing import TypedDict


class Distribution(TypedDict):
    """How a number is distributed over the succeeded task attempts; if there are none, only `n` and `sum` are set."""

    n: int
    sum: int
    min: int | None
    median: float | None
    p95: int | None
    max: int | None


class ApplicationRow(TypedDict):
    """One application attempt: one start event of the log."""

    app_id: str | None
    attempt: str | None
    name: str | None
    user_name: str | None
    spark_version: str | None
    started_ms: int | None
    ended_ms: int | None


class JobRow(TypedDict):
    """One job."""

    job_id: int
    submitted_ms: int | None
    completed_ms: int | None
    result: str | None
    failure_reason: str | None
    stage_ids: list[int]
    description: str | None
    job_group: str | None
    sql_execution_id: int | None


class StageRow(TypedDict):
    """One stage attempt."""

    stage_id: int
    stage_attempt: int
    name: str | None
    call_site: str | None
    num_tasks: int | None
    parent_stage_ids: list[int] | None
    scope_names: list[str] | None
    submitted_ms: int | None
    completed_ms: int | None
    failure_reason: str | None
    status: str
    job_id: int | None
    depth: int | None
    sql_execution_id: int | None
    job_description: str | None
    job_group: str | None
    resource_profile_id: int | None
    started_tasks: int
    tasks: int
    succeeded: int
    failed: int
    killed: int
    speculative: int
    without_metrics: int
    run_ms: int
    cpu_ns: int
    gc_ms: int
    deserialize_ms: int
    result_bytes: int
    memory_spilled_bytes: int
    disk_spilled_bytes: int
    shuffle_read_bytes: int
    shuffle_read_records: int
    fetch_wait_ms: int
    shuffle_write_bytes: int
    shuffle_write_records: int
    input_bytes: int
    input_records: int
    output_bytes: int
    output_records: int
    wall_ms: Distribution
    task_run_ms: Distribution
    task_shuffle_read_bytes: Distribution
    task_input_bytes: Distribution
    task_bytes: Distribution
    spilled_tasks: int
    spilled_wall_ms: int
    ended_wall_ms: int
    first_launched_ms: int | None
    last_finished_ms: int | None
    biggest_task_index: int | None
    biggest_task_bytes: int | None
    biggest_task_ms: int | None
    slowest_task_index: int | None
    slowest_task_ms: int | None
    slowest_task_bytes: int | None
    slowest_task_gc_ms: int | None
    slowest_task_executor_id: str | None
    slowest_task_host: str | None
    fetch_failed: int
    lost: int
    resubmitted: int
    operator_rows_max: int | None


class FailureRow(TypedDict):
    """One failure class of a stage attempt."""

    stage_id: int
    stage_attempt: int
    failure_class: str
    failure_reason: str | None
    failed: int
    task_index: int | None
    executor_id: str | None
    host: str | None
    hosts: int
    failing_tasks: int
    attempts_max: int


class ExecutorRow(TypedDict):
    """One executor."""

    executor_id: str
    host: str | None
    cores: int | None
    added_ms: int | None
    removed_ms: int | None
    removed_reason: str | None
    storage_memory_bytes: int | None


class SqlExecutionRow(TypedDict):
    """One SQL execution."""

    sql_execution_id: int
    root_execution_id: int | None
    description: str | None
    call_site: str | None
    started_ms: int | None
    ended_ms: int | None
    reported_status: str | None
    failure_reason: str | None
    plan_versions: int


class PlanNodeRow(TypedDict):
    """One node of a physical plan."""

    sql_execution_id: int
    plan_version: int
    node: int
    parent: int | None
    name: str | None
    condition: str | None
    detail: str | None
    metric_ids: list[int]
    metric_names: list[str]
    metric_types: list[str]


class EnvironmentRow(TypedDict):
    """One property."""

    section: str
    key: str
    value: str | None


class ReadFile(TypedDict):
    """What was read from one file."""

    name: str
    codec: str
    bytes: int
    plain_bytes: int
    lines: int
    truncated: bool
    error: str | None


class LineEvidence(TypedDict):
    """One line that is not an event."""

    file: str
    line: int
    offset: int
    reason: str


class LogEvidence(TypedDict):
    """The evidence of the reader: what was read from a log and what was not."""

    files: list[ReadFile]
    plain_bytes: int
    events: int
    events_by_kind: dict[str, int]
    malformed: int
    malformed_lines: list[LineEvidence]
    truncated: bool
    complete: bool
    unfinished_tasks: int
    duplicate_task_ends: int
    odd_values: int
    unknown_events: int
    left_out: int
