-- Decisions of the fuse controller and receipts of the hooks.
SELECT
  fromUnixTimestamp64Milli(ifNull(at_ms, 0)) AS at,
  app_id,
  actor,
  rule,
  action,
  mode,
  step,
  outcome,
  gate,
  reason,
  freed_tasks
FROM (
  SELECT at_ms, app_id, actor, rule, action, mode, step, outcome, gate, reason, NULL AS freed_tasks
  FROM audit FINAL
  WHERE at_ms BETWEEN ${__from} AND ${__to}
  UNION ALL
  SELECT at_ms, app_id, 'hook' AS actor, rule, action, mode, outcome AS step, NULL AS outcome, gate, reason, freed_tasks
  FROM receipts FINAL
  WHERE at_ms BETWEEN ${__from} AND ${__to}
) AS steps
ORDER BY at DESC, actor, step
LIMIT 200
