"""Generated from contracts/shared/event_ids.yaml; do not edit."""

ID_BYTES = 16
KEYS = (
    "application_started: ",
    "application_ended: ",
    "job_started: job_id",
    "job_ended: job_id",
    "sql_started: sql_execution_id",
    "sql_ended: sql_execution_id",
    "sql_plan: sql_execution_id|plan_version",
    "sql_metrics: sql_execution_id",
    "stage_started: stage_id|stage_attempt",
    "stage_ended: stage_id|stage_attempt",
    "task_started: task_id",
    "task_ended: task_id|outcome|failure_class|finished_ms",
    "task_progress: task_id|fact.event_time_ms",
    "executor_added: executor_id|added_ms",
    "executor_removed: executor_id|removed_ms",
    "executor_sample: executor_id|fact.event_time_ms",
    "collector_health: fact.collector|fact.event_time_ms",
    "block_manager_added: executor_id|added_ms",
    "block_manager_removed: executor_id|removed_ms",
    "streaming_started: run_id",
    "streaming_ended: run_id",
    "streaming_progress: run_id|batch_id|triggered_ms",
    "resource_profile_added: profile_id",
    "node_event: event|host|executor_id|stage_id|happened_ms",
)
