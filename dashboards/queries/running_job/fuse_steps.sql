-- Decisions of the fuse controller and receipts of the hook for this application.
SELECT
  fromUnixTimestamp64Milli(ifNull(at_ms, 0)) AS at,
  actor,
  rule,
  action,
  mode,
  step,
  outcome,
  gate,
  reason,
  concat(toString(stage_id), '.', toString(stage_attempt)) AS stage,
  freed_tasks,
  toString(observed) AS observed
FROM (
  SELECT at_ms, actor, rule, action, mode, step, outcome, gate, reason, stage_id, stage_attempt, NULL AS freed_tasks, observed
  FROM audit FINAL
  WHERE app_id = ${app_id:sqlstring}
  UNION ALL
  SELECT at_ms, 'hook' AS actor, rule, action, mode, outcome AS step, NULL AS outcome, gate, reason, stage_id, stage_attempt, freed_tasks, observed
  FROM receipts FINAL
  WHERE app_id = ${app_id:sqlstring}
) AS steps
ORDER BY at DESC, actor, step
LIMIT 100
