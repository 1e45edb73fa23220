-- The inputs of ApplicationClock, by partition: windows of applications with facts, ends of applications, and ticks.
SELECT
  kafka_partition, cluster, tenant, app_id, app_attempt, app_start_ms, happened_at,
  FALSE AS ticked, FALSE AS ended, lanes, samples, pauses, health
FROM application_windows
UNION ALL
SELECT
  kafka_partition, cluster, tenant, app_id, app_attempt, app_start_ms, arrived_at AS happened_at,
  tick IS NOT NULL AS ticked, application_ended IS NOT NULL AS ended,
  CAST(NULL AS BYTES), CAST(NULL AS BYTES), CAST(NULL AS BYTES), CAST(NULL AS BYTES)
FROM facts
WHERE tick IS NOT NULL OR application_ended IS NOT NULL
