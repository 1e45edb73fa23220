-- Starts, ends, plans with their metrics and ticks, which ApplicationFold forwards in order with its rows, and facts
-- about resource profiles and streaming queries, which it uses itself. They are not windowed, so that a late fact is
-- delayed and not lost.
SELECT cluster, tenant, app_id, app_attempt, app_start_ms, arrived_at AS happened_at, `value` AS fact
FROM facts
WHERE application_started IS NOT NULL OR application_ended IS NOT NULL
  OR job_started IS NOT NULL OR job_ended IS NOT NULL
  OR sql_started IS NOT NULL OR sql_ended IS NOT NULL
  OR sql_plan IS NOT NULL OR sql_metrics IS NOT NULL
  OR stage_started IS NOT NULL OR stage_ended IS NOT NULL
  OR executor_added IS NOT NULL OR executor_removed IS NOT NULL
  OR resource_profile_added IS NOT NULL
  OR streaming_started IS NOT NULL OR streaming_progress IS NOT NULL OR streaming_ended IS NOT NULL
  OR tick IS NOT NULL
