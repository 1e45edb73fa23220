-- Starts and ends, which are passed on behind the last row that they close, and the ticks.
-- They are not windowed, so that one that comes late is late and not lost.
SELECT cluster, tenant, app_id, app_attempt, app_start_ms, arrived_at AS happened_at, `value` AS fact
FROM facts
WHERE kind IN (
  'application_started', 'application_ended', 'job_started', 'job_ended', 'sql_started', 'sql_ended',
  'stage_started', 'stage_ended', 'executor_added', 'executor_removed', 'tick')
