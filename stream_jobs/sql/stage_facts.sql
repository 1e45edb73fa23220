-- Every fact of a stage attempt, as flat columns.
-- If an executor with the output of a task is lost, Spark reports a second end of the task with the class Resubmitted.
-- No attempt ended then, so it does not count as an end; it subtracts one success from the count of first successes.
SELECT
  cluster, tenant, app_id, app_attempt, app_start_ms, arrived_at, event_time_ms,
  COALESCE(task_ended.stage_id, task_started.stage_id, task_progress.stage_id,
           stage_started.stage_id, stage_ended.stage_id) AS stage_id,
  COALESCE(task_ended.stage_attempt, task_started.stage_attempt, task_progress.stage_attempt,
           stage_started.stage_attempt, stage_ended.stage_attempt) AS stage_attempt,
  task_started.task_id AS started_id,
  task_started.launched_ms AS launched_ms,
  CASE WHEN resubmitted THEN NULL ELSE task_ended.task_id END AS ended_id,
  resubmitted,
  task_ended.outcome = 'success' AS succeeded,
  task_ended.outcome = 'failed' AND NOT resubmitted AS failed,
  task_ended.outcome = 'killed' AS killed,
  task_ended.speculative AS speculative,
  task_ended.failure_class = 'FetchFailed' AS fetch_failed,
  task_ended.failure_class = 'ExecutorLostFailure' AS lost,
  CASE WHEN task_ended.outcome = 'failed' AND NOT resubmitted THEN `value` END AS failure,
  task_ended.task_index AS task_index,
  task_ended.executor_id AS executor_id,
  task_ended.host AS host,
  task_ended.finished_ms AS finished_ms,
  CASE WHEN resubmitted THEN NULL ELSE task_ended.duration_ms END AS duration_ms,
  CASE WHEN task_ended.outcome = 'success' THEN task_ended.duration_ms END AS success_ms,
  CASE WHEN task_ended.outcome = 'success' AND (task_ended.input_bytes IS NOT NULL OR task_ended.shuffle_read_bytes IS NOT NULL)
       THEN COALESCE(task_ended.input_bytes, 0) + COALESCE(task_ended.shuffle_read_bytes, 0) END AS success_bytes,
  task_ended.run_ms AS run_ms,
  task_ended.cpu_ns AS cpu_ns,
  task_ended.gc_ms AS gc_ms,
  task_ended.memory_spilled_bytes AS memory_spilled_bytes,
  task_ended.disk_spilled_bytes AS disk_spilled_bytes,
  task_ended.input_bytes AS input_bytes,
  task_ended.input_records AS input_records,
  task_ended.output_bytes AS output_bytes,
  task_ended.output_records AS output_records,
  task_ended.shuffle_read_bytes AS shuffle_read_bytes,
  task_ended.shuffle_read_records AS shuffle_read_records,
  task_ended.fetch_wait_ms AS fetch_wait_ms,
  task_ended.shuffle_write_bytes AS shuffle_write_bytes,
  task_ended.shuffle_write_records AS shuffle_write_records,
  CASE WHEN task_progress IS NOT NULL THEN `value` END AS progress,
  CASE WHEN stage_started IS NOT NULL THEN 'started' WHEN stage_ended IS NOT NULL THEN 'ended' END AS moment,
  CASE WHEN stage_started IS NOT NULL OR stage_ended IS NOT NULL THEN `value` END AS moment_value
FROM (
  SELECT *, COALESCE(task_ended.failure_class = 'Resubmitted', FALSE) AS resubmitted
  FROM facts
  WHERE task_started IS NOT NULL OR task_ended IS NOT NULL OR task_progress IS NOT NULL
    OR stage_started IS NOT NULL OR stage_ended IS NOT NULL
)
