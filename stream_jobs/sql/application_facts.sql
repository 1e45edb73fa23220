-- Every fact of every application, with the columns that concern the application as a whole. Facts about pods come from
-- the pod watcher: they are no sign of life of the application, and have neither its attempt nor its start.
SELECT
  cluster, tenant, app_id, app_attempt, app_start_ms, arrived_at, event_time_ms, collector, lane, seq,
  kafka_partition,
  executor_sample.executor_id AS executor_id,
  CASE WHEN executor_sample IS NOT NULL THEN `value` END AS sample,
  executor_sample.gc_pause_max_ms AS pause_ms,
  CASE WHEN executor_sample.gc_pause_max_ms > 0 THEN `value` END AS pause,
  CASE WHEN collector_health IS NOT NULL THEN `value` END AS health
FROM facts
WHERE app_id IS NOT NULL AND tick IS NULL AND pod_changed IS NULL
