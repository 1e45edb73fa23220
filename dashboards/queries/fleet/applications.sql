-- Applications with a row in the last two minutes of the range that had not ended. An application with a silent driver
-- has a row in every window too, so it is filtered by the time of silence.
SELECT
  application_name AS name,
  app_id,
  cluster,
  tenant,
  application_user_name AS user,
  application_elapsed_ms AS elapsed,
  application_running_stages AS running_stages,
  application_running_tasks AS running_tasks,
  application_failed_tasks AS failed_tasks,
  application_executors AS executors,
  application_disk_spilled_bytes AS spilled,
  completeness
FROM (
  SELECT *
  FROM live
  WHERE row = 'application' AND window_end_ms BETWEEN ${__to} - 120000 AND ${__to}
  ORDER BY row_epoch_ms DESC, row_seq DESC
  LIMIT 1 BY app_id, app_start_ms
)
WHERE application_status = 'running' AND ifNull(application_driver_silent_ms, 0) <= 120000
ORDER BY elapsed DESC
LIMIT 500
