-- The latest application row of the run.
SELECT
  application_name AS name,
  application_status AS status,
  application_elapsed_ms AS elapsed,
  application_running_stages AS running_stages,
  application_running_tasks AS running_tasks,
  application_failed_tasks AS failed_tasks,
  application_executors AS executors,
  application_disk_spilled_bytes AS spilled
FROM application_rows
WHERE app_id = ${app_id:sqlstring} AND row = 'application'
ORDER BY app_start_ms DESC, row_epoch_ms DESC, row_seq DESC
LIMIT 1
