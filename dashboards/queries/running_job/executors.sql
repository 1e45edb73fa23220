-- The latest sample of each executor of the run.
SELECT
  executor_executor_id AS executor,
  executor_host AS host,
  executor_heap_used_bytes AS heap_used,
  executor_heap_max_bytes AS heap_max,
  executor_gc_share AS gc,
  executor_rss_bytes AS resident,
  executor_python_rss_bytes AS python_resident,
  executor_running_tasks AS running_tasks,
  fromUnixTimestamp64Milli(assumeNotNull(window_end_ms)) AS seen
FROM live
WHERE app_id = ${app_id:sqlstring}
  AND app_start_ms = (SELECT max(app_start_ms) FROM application_rows WHERE app_id = ${app_id:sqlstring})
  AND row = 'executor'
ORDER BY row_epoch_ms DESC, row_seq DESC
LIMIT 1 BY executor_executor_id
