-- Decisions of the fuse controller and receipts of the hook for this application.
SELECT
  fromUnixTimestamp64Milli(at_ms) AS at,
  actor,
  rule,
  action,
  mode,
  outcome,
  reason,
  concat(toString(stage_id), '.', toString(stage_attempt)) AS stage,
  killed_tasks,
  toString(observed) AS observed
FROM actions FINAL
WHERE app_id = ${app_id:sqlstring}
ORDER BY at_ms DESC, action_id
LIMIT 100
