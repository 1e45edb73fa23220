-- Facts about pods, and the facts from which PodsOfApplication learns tenant, attempt and start of their application.
SELECT cluster, tenant, app_id, app_attempt, app_start_ms, arrived_at AS happened_at,
  CASE WHEN pod_changed IS NOT NULL THEN `value` END AS fact, pod_changed.executor_id AS executor_id
FROM facts
WHERE pod_changed IS NOT NULL OR application_started IS NOT NULL OR executor_added IS NOT NULL
