-- What one window says of one stage attempt: a partial that StageFold adds to the stage so far.
-- Columns that add up from window to window have the name of their column in stage_live.
SELECT
  cluster, tenant, app_id, app_attempt, app_start_ms, stage_id, stage_attempt, window_time AS happened_at,
  COUNT(ended_id) AS finished_tasks,
  COUNT(*) FILTER (WHERE succeeded) AS succeeded_tasks,
  COUNT(*) FILTER (WHERE failed) AS failed_tasks,
  COUNT(*) FILTER (WHERE killed) AS killed_tasks,
  COUNT(ended_id) FILTER (WHERE speculative) AS speculative_tasks,
  COUNT(*) FILTER (WHERE succeeded AND NOT COALESCE(speculative, FALSE))
    - COUNT(*) FILTER (WHERE resubmitted) AS first_successes,
  SUM(run_ms) AS finished_run_ms,
  SUM(cpu_ns) AS cpu_ns,
  SUM(gc_ms) AS finished_gc_ms,
  SUM(input_bytes) AS finished_input_bytes,
  SUM(input_records) AS finished_input_records,
  SUM(shuffle_read_bytes) AS finished_shuffle_read_bytes,
  SUM(shuffle_read_records) AS finished_shuffle_read_records,
  SUM(fetch_wait_ms) AS finished_fetch_wait_ms,
  SUM(shuffle_write_bytes) AS finished_shuffle_write_bytes,
  SUM(shuffle_write_records) AS finished_shuffle_write_records,
  SUM(output_bytes) AS finished_output_bytes,
  SUM(output_records) AS finished_output_records,
  SUM(memory_spilled_bytes) AS finished_memory_spilled_bytes,
  SUM(disk_spilled_bytes) AS finished_disk_spilled_bytes,
  COUNT(*) FILTER (WHERE disk_spilled_bytes > 0) AS finished_spilled_tasks,
  SUM(duration_ms) FILTER (WHERE disk_spilled_bytes > 0) AS finished_spilled_duration_ms,
  SUM(duration_ms) AS finished_duration_ms,
  MAX(success_ms) AS duration_max_ms,
  MAX(success_bytes) AS task_bytes_max,
  MAX(finished_ms) AS last_finished_ms,
  quantile_sketch(success_ms) AS durations,
  quantile_sketch(success_bytes) AS task_bytes,
  biggest_task(task_index, success_bytes, success_ms) AS biggest,
  running_tasks(started_id, launched_ms, ended_id, progress) AS tasks,
  latest_fact(moment, event_time_ms, moment_value) AS moments
FROM TABLE(TUMBLE(TABLE stage_facts, DESCRIPTOR(arrived_at), INTERVAL '{window_seconds}' SECOND(3)))
GROUP BY cluster, tenant, app_id, app_attempt, app_start_ms, stage_id, stage_attempt,
  window_start, window_end, window_time
