"""Rows of the views as types, generated from contracts/messages/live.proto; do not edit."""

from typing import TypedDict


class StageLiveRow(TypedDict, total=False):
    """One row of stage_live."""

    stage_id: int | None
    stage_attempt: int | None
    name: str | None
    num_tasks: int | None
    status: str | None
    submitted_ms: int | None
    completed_ms: int | None
    elapsed_ms: int | None
    job_id: int | None
    sql_execution_id: int | None
    failure_reason: str | None
    finished_tasks: int | None
    succeeded_tasks: int | None
    failed_tasks: int | None
    killed_tasks: int | None
    speculative_tasks: int | None
    finished_run_ms: int | None
    finished_cpu_ms: int | None
    finished_gc_ms: int | None
    finished_input_bytes: int | None
    finished_input_records: int | None
    finished_shuffle_read_bytes: int | None
    finished_shuffle_read_records: int | None
    finished_fetch_wait_ms: int | None
    finished_shuffle_write_bytes: int | None
    finished_shuffle_write_records: int | None
    finished_output_bytes: int | None
    finished_output_records: int | None
    finished_memory_spilled_bytes: int | None
    finished_disk_spilled_bytes: int | None
    finished_spilled_tasks: int | None
    finished_spilled_duration_ms: int | None
    finished_duration_ms: int | None
    fetch_failed_tasks: int | None
    lost_tasks: int | None
    resubmitted_tasks: int | None
    duration_p50_ms: float | None
    duration_p95_ms: float | None
    duration_max_ms: int | None
    task_bytes_p50: float | None
    task_bytes_p95: float | None
    task_bytes_max: int | None
    running_tasks: int | None
    running_input_bytes: int | None
    running_input_records: int | None
    running_shuffle_read_bytes: int | None
    running_shuffle_read_records: int | None
    running_shuffle_write_bytes: int | None
    running_output_bytes: int | None
    running_memory_spilled_bytes: int | None
    running_disk_spilled_bytes: int | None
    running_cpu_ms: int | None
    running_age_max_ms: int | None
    running_stalled_max_ms: int | None
    running_untracked_tasks: int | None
    running_since_progress_min_ms: int | None
    running_spilled_since_progress_max_bytes: int | None
    running_since_spill_ms: int | None
    since_finish_ms: int | None
    disk_spilled_bytes: int | None
    memory_spilled_bytes: int | None
    work_bytes: int | None
    work_records: int | None
    biggest_task_index: int | None
    biggest_task_bytes: int | None
    biggest_task_ms: int | None
    bytes_ratio: float | None
    lost_ms: int | None
    lost_share: float | None
    slowest_task_index: int | None
    slowest_task_ms: int | None
    slowest_task_bytes: int | None
    slowest_task_executor_id: str | None
    slowest_task_host: str | None
    slowest_task_bytes_ratio: float | None
    slowest_task_lost_ms: int | None
    slowest_task_lost_share: float | None
    slowest_task_gc_ms: int | None
    stage_fingerprint: str | None
    baseline_runs: int | None
    expected_ms: int | None
    expected_p95_ms: int | None
    expected_cpu_ms: int | None
    expected_cpu_p95_ms: int | None
    moved: str | None
    work_known: bool | None
    projected_ms: int | None
    projected_p95_ms: int | None
    judged_ms: int | None
    runs_python: bool | None
    operator_rows_max: int | None
    work_measure: str | None
    stage_name: str | None
    stage_title: str | None
    usual_disk_spilled_bytes: int | None
    similar_runs: int | None
    baseline_span_ms: int | None
    level_ratio: float | None
    level_since_ms: int | None
    level_runs: int | None
    level_lost_ms: int | None
    level_lost_month_ms: int | None
    level_due: bool | None
    level_sudden: bool | None
    level_changes: str | None
    result_bytes: int | None


class TaskLiveRow(TypedDict, total=False):
    """One row of task_live."""

    stage_id: int | None
    stage_attempt: int | None
    task_id: int | None
    task_index: int | None
    task_attempt: int | None
    executor_id: str | None
    host: str | None
    age_ms: int | None
    stalled_ms: int | None
    cpu_since_progress_ms: int | None
    activity: str | None
    work_bytes: int | None
    work_records: int | None
    disk_spilled_bytes: int | None
    stack: str | None
    stage_name: str | None
    stage_fingerprint: str | None
    outlived_ms: int | None


class ExecutorLiveRow(TypedDict, total=False):
    """One row of executor_live."""

    executor_id: str | None
    host: str | None
    heap_used_bytes: int | None
    heap_max_bytes: int | None
    non_heap_used_bytes: int | None
    gc_delta_ms: int | None
    interval_ms: int | None
    gc_share: float | None
    cpu_ns: int | None
    rss_bytes: int | None
    python_rss_bytes: int | None
    running_tasks: int | None
    gc_pause_max_ms: int | None
    heap_after_gc_bytes: int | None
    direct_memory_bytes: int | None
    process_rss_bytes: int | None
    memory_limit_bytes: int | None
    silent_ms: int | None
    age_ms: int | None


class AppLiveRow(TypedDict, total=False):
    """One row of app_live."""

    name: str | None
    status: str | None
    ended_ms: int | None
    elapsed_ms: int | None
    running_jobs: int | None
    succeeded_jobs: int | None
    failed_jobs: int | None
    running_stages: int | None
    ended_stages: int | None
    running_tasks: int | None
    finished_tasks: int | None
    failed_tasks: int | None
    executors: int | None
    disk_spilled_bytes: int | None
    facts_seen: int | None
    facts_expected: int | None
    facts_dropped: int | None
    user_name: str | None
    spark_version: str | None
    finished_cpu_ms: int | None
    work_bytes: int | None
    work_records: int | None
    baseline_runs: int | None
    expected_ms: int | None
    expected_p95_ms: int | None
    expected_cpu_ms: int | None
    expected_cpu_p95_ms: int | None
    moved: str | None
    work_known: bool | None
    idle_ms: int | None
    stalled_ms: int | None
    driver_silent_ms: int | None
    outlived_ms: int | None
    unfinished_tasks: int | None
    deadline_ms: int | None
    deadline_left_ms: int | None
    remaining_ms: int | None
    remaining_p95_ms: int | None
    late_chance: float | None
    deadline_source: str | None
    operator_rows: int | None
    work_measure: str | None
    between_jobs_ms: int | None
    expected_between_p95_ms: int | None
    log_silent_ms: int | None
    cost: float | None
    currency: str | None
    similar_runs: int | None
    baseline_span_ms: int | None
    level_ratio: float | None
    level_since_ms: int | None
    level_runs: int | None
    level_lost_ms: int | None
    level_lost_month_ms: int | None
    level_due: bool | None
    level_sudden: bool | None
    level_changes: str | None
    level_lost_month_cost: float | None


class FailureLiveRow(TypedDict, total=False):
    """One row of failure_live."""

    stage_id: int | None
    stage_attempt: int | None
    stage_name: str | None
    stage_fingerprint: str | None
    failure_class: str | None
    failure_reason: str | None
    failed_tasks: int | None
    finished_tasks: int | None
    num_tasks: int | None
    task_index: int | None
    executor_id: str | None
    host: str | None
    hosts: int | None
    failing_tasks: int | None
    attempts_max: int | None
    failure_kind: str | None
    failure: str | None
    retry: str | None
    first_cause: str | None


class JobLiveRow(TypedDict, total=False):
    """One row of job_live."""

    job_id: int | None
    description: str | None
    status: str | None
    elapsed_ms: int | None
    failure_reason: str | None
    failure_kind: str | None
    failure: str | None
    retry: str | None
    first_cause: str | None
    failed_stage_id: int | None


class ExecutorLossRow(TypedDict, total=False):
    """One row of executor_loss."""

    executor_id: str | None
    host: str | None
    removed_ms: int | None
    reason: str | None
    exit_code: int | None
    lived_ms: int | None
    failure_kind: str | None
    failure: str | None
    lost_executors: int | None
    peak_executors: int | None
    lost_alike: int | None


class HostLiveRow(TypedDict, total=False):
    """One row of host_live."""

    host: str | None
    applications: int | None
    failing_applications: int | None
    slow_applications: int | None
    storage_applications: int | None
    elsewhere_applications: int | None
    failure: str | None
    application_ids: str | None
    chance_hosts: float | None


class QueryLiveRow(TypedDict, total=False):
    """One row of query_live."""

    query_id: int | None
    root_query_id: int | None
    description: str | None
    call_site: str | None
    status: str | None
    started_ms: int | None
    ended_ms: int | None
    elapsed_ms: int | None
    failure_reason: str | None
    running_stages: int | None
    ended_stages: int | None
    failed_stages: int | None
    stage_ids: str | None
    finished_tasks: int | None
    running_tasks: int | None
    input_bytes: int | None
    output_bytes: int | None
    shuffle_read_bytes: int | None
    disk_spilled_bytes: int | None
    finished_cpu_ms: int | None
    result_bytes: int | None
    query_name: str | None
    sources: str | None
    sink: str | None
    loop_join_pairs: int | None
    loop_join_small_rows: int | None
    loop_join_output_rows: int | None
    loop_join_task_ms: int | None
    scanned_files: int | None
    scanned_file_bytes: int | None
    scanned_table: str | None
    scan_task_ms: int | None
    written_files: int | None
    written_file_bytes: int | None
    written_partitions: int | None
    broadcast_bytes: int | None
    broadcast_ms: int | None
    one_task_rows: int | None
    one_task_ms: int | None
    loop_join_due: bool | None
    broadcast_due: bool | None
    one_task_due: bool | None
    shuffled_join_small_bytes: int | None
    shuffled_join_large_bytes: int | None
    shuffled_join_task_ms: int | None
    shuffled_join_due: bool | None
    repeated_copies: int | None
    repeated_rows: int | None
    repeated_table: str | None
    repeated_task_ms: int | None
    repeated_due: bool | None


class StreamingLiveRow(TypedDict, total=False):
    """One row of streaming_live."""

    streaming_id: str | None
    streaming_run_id: str | None
    streaming_name: str | None
    status: str | None
    idle: bool | None
    batch_id: int | None
    triggered_ms: int | None
    batch_duration_ms: int | None
    add_batch_ms: int | None
    latest_offset_ms: int | None
    trigger_interval_ms: int | None
    input_rows: int | None
    input_rows_per_second: float | None
    processed_rows_per_second: float | None
    lag_records: int | None
    lag_bytes: int | None
    watermark_ms: int | None
    state_rows: int | None
    state_memory_bytes: int | None
    dropped_by_watermark_rows: int | None
    sources: str | None
    started_ms: int | None
    batches: int | None
    failure_reason: str | None
    behind_batches: int | None
    behind_ms: int | None
    behind_duration_ratio: float | None
    lag_growth_ms: int | None
    lag_growth_samples: int | None
    lag_growth_first_records: int | None
    lag_growth_second_records: int | None
    lag_growth_third_records: int | None
    lag_work_ms: int | None
    watermark_still_ms: int | None
    watermark_still_batches: int | None
    watermark_still_rows: int | None
    watermark_longest_still_ms: int | None
    state_growth_ms: int | None
    state_growth_samples: int | None
    state_growth_first_rows: int | None
    state_growth_second_rows: int | None
    state_growth_third_rows: int | None
    state_growth_input_ratio: float | None
    state_growth_watermarks: float | None
    event_time_unit_ms: int | None
