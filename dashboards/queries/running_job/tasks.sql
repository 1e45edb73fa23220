-- Running tasks, longest stalled first; a task without a row for 45 s has ended or lost its executor.
WITH (
  SELECT (max(app_start_ms), maxIf(window_end_ms, row = 'application'))
  FROM application_rows
  WHERE app_id = ${app_id:sqlstring}
    AND app_start_ms = (SELECT max(app_start_ms) FROM application_rows WHERE app_id = ${app_id:sqlstring})
) AS newest
SELECT
  concat(toString(task_stage_id), '.', toString(task_stage_attempt)) AS stage,
  task_task_index AS task,
  task_task_attempt AS attempt,
  task_executor_id AS executor,
  task_host AS host,
  task_activity AS activity,
  task_stalled_ms AS stalled,
  task_age_ms AS age,
  task_cpu_since_progress_ms AS cpu_since_progress,
  task_work_bytes AS work,
  task_disk_spilled_bytes AS spilled,
  task_stack AS stack
FROM (
  SELECT *
  FROM live
  WHERE app_id = ${app_id:sqlstring} AND app_start_ms = newest.1 AND row = 'task'
  ORDER BY row_epoch_ms DESC, row_seq DESC
  LIMIT 1 BY task_task_id
)
WHERE window_end_ms >= newest.2 - 45000
ORDER BY stalled DESC, age DESC
LIMIT 100
