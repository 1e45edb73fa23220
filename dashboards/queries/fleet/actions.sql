-- Decisions of the fuse controller and receipts of the hook.
SELECT
  fromUnixTimestamp64Milli(at_ms) AS at,
  app_id,
  actor,
  rule,
  action,
  mode,
  outcome,
  reason,
  killed_tasks
FROM actions FINAL
WHERE at_ms BETWEEN ${__from} AND ${__to}
ORDER BY at_ms DESC, action_id
LIMIT 200
