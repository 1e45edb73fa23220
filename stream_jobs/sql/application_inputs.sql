-- All inputs of ApplicationFold: forwarded facts, facts about pods, stage updates and windows of the clock.
SELECT cluster, tenant, app_id, app_attempt, app_start_ms, happened_at, fact,
  CAST(NULL AS BYTES) AS stage_update, CAST(NULL AS BOOLEAN) AS quiet, CAST(NULL AS BYTES) AS lanes,
  CAST(NULL AS BYTES) AS samples, CAST(NULL AS BYTES) AS pauses, CAST(NULL AS BYTES) AS health
FROM forwarded_facts
UNION ALL
SELECT cluster, tenant, app_id, app_attempt, app_start_ms, happened_at, fact,
  CAST(NULL AS BYTES), CAST(NULL AS BOOLEAN), CAST(NULL AS BYTES), CAST(NULL AS BYTES), CAST(NULL AS BYTES), CAST(NULL AS BYTES)
FROM pod_facts
UNION ALL
SELECT cluster, tenant, app_id, app_attempt, app_start_ms, happened_at, CAST(NULL AS BYTES),
  stage_update, CAST(NULL AS BOOLEAN), CAST(NULL AS BYTES), CAST(NULL AS BYTES), CAST(NULL AS BYTES), CAST(NULL AS BYTES)
FROM stage_updates
UNION ALL
SELECT cluster, tenant, app_id, app_attempt, app_start_ms, happened_at, CAST(NULL AS BYTES),
  CAST(NULL AS BYTES), quiet, lanes, samples, pauses, health
FROM application_clock
