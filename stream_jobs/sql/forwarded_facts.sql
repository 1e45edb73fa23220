-- Starts and ends, which are passed on behind the last row that they close, the ticks, and what executors may have,
-- which ApplicationFold keeps for itself.
-- They are not windowed, so that one that comes late is late and not lost.
SELECT cluster, tenant, app_id, app_attempt, app_start_ms, arrived_at AS happened_at, `value` AS fact
FROM facts
WHERE application_started IS NOT NULL OR application_ended IS NOT NULL
  OR job_started IS NOT NULL OR job_ended IS NOT NULL
  OR sql_started IS NOT NULL OR sql_ended IS NOT NULL OR sql_plan IS NOT NULL
  OR stage_started IS NOT NULL OR stage_ended IS NOT NULL
  OR executor_added IS NOT NULL OR executor_removed IS NOT NULL
  OR resource_profile_added IS NOT NULL
  OR tick IS NOT NULL
