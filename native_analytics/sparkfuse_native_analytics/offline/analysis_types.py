"""Types of the JSON objects of `sparkfuse analyze --json`; contracts/documents/analysis.proto describes each field."""

from __future__ import annotations

from typing import Any, TypedDict

from sparkfuse_native_analytics.event_logs.table_rows import Distribution, ReadFile


class AnalysedApplication(TypedDict):
    """The application and its expected duration."""

    app_id: str | None
    attempt: str | None
    name: str | None
    spark_version: str | None
    started_ms: int | None
    ended_ms: int | None
    job_key: str
    run_key: str
    status: str
    elapsed_ms: int | None
    baseline_runs: int | None
    expected_ms: int | None
    expected_p95_ms: int | None
    moved: str | None
    work_measure: str | None


class MalformedLine(TypedDict):
    """One line that is not an event."""

    file: str
    line: int
    reason: str


class AnalysisEvidence(TypedDict):
    """What was read from the log and what is missing."""

    files: list[ReadFile]
    plain_bytes: int
    codecs: list[str]
    events: int
    events_by_kind: dict[str, int]
    malformed_lines: list[MalformedLine]
    truncated: bool
    complete: bool
    unfinished_tasks: int
    duplicate_task_ends: int
    malformed: int
    missing_files: list[str]
    completeness: float
    left_out: int
    odd_values: int


class AnalysedQuery(TypedDict):
    """One query (SQL execution) with sums over its stage attempts."""

    query_id: int
    root_query_id: int | None
    name: str
    title: str
    description: str | None
    call_site: str | None
    status: str
    started_ms: int | None
    ended_ms: int | None
    elapsed_ms: int | None
    failure_reason: str | None
    sources: str | None
    sink: str | None
    job_ids: list[int]
    stage_ids: list[int]
    failed_stages: int
    tasks: int
    run_ms: int
    input_bytes: int
    output_bytes: int
    shuffle_read_bytes: int
    shuffle_write_bytes: int
    disk_spilled_bytes: int


class AnalysedJob(TypedDict):
    """One job."""

    job_id: int
    description: str | None
    submitted_ms: int | None
    completed_ms: int | None
    result: str | None
    failure_reason: str | None
    stage_ids: list[int]
    failure_kind: str | None
    failure: str | None
    retry: str | None


class AnalysedStage(TypedDict):
    """One stage attempt."""

    stage_id: int
    stage_attempt: int
    fingerprint: str
    name: str | None
    job_description: str | None
    status: str
    num_tasks: int | None
    submitted_ms: int | None
    completed_ms: int | None
    failure_reason: str | None
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
    job_id: int | None
    sql_execution_id: int | None
    started_tasks: int
    completeness: float
    baseline_runs: int | None
    expected_ms: int | None
    expected_p95_ms: int | None
    moved: str | None
    work_measure: str | None
    stage_name: str
    stage_title: str
    call_site: str | None


class AnalysedExecutor(TypedDict):
    """One executor."""

    executor_id: str
    host: str | None
    added_ms: int | None
    removed_ms: int | None
    removed_reason: str | None
    cores: int | None


class AnalysisFinding(TypedDict):
    """The worst of the findings that one rule has for one stage or for the application."""

    rule: str
    severity: str
    stage_id: int | None
    stage_attempt: int | None
    executor_id: str | None
    job_id: int | None
    count: int
    inhibited_by: str | None
    summary: str
    description: str
    evidence: dict[str, Any]
    completeness: float
    runbook: str
    query_id: int | None
    stage_name: str | None


class UndecidableRule(TypedDict):
    """A rule that cannot be evaluated on this log."""

    rule: str
    reason: str


class Analysis(TypedDict):
    """One application."""

    application: AnalysedApplication
    evidence: AnalysisEvidence
    queries: list[AnalysedQuery]
    jobs: list[AnalysedJob]
    stages: list[AnalysedStage]
    executors: list[AnalysedExecutor]
    findings: list[AnalysisFinding]
    not_decidable: list[UndecidableRule]
