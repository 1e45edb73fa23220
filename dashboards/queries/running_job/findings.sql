-- The latest record of each finding of this application.
SELECT
  severity,
  state,
  rule,
  description,
  fromUnixTimestamp64Milli(started_ms) AS since,
  fromUnixTimestamp64Milli(resolved_ms) AS resolved,
  completeness,
  runbook_url AS runbook
FROM (
  SELECT *
  FROM findings
  WHERE (updated_ms, finding_id) IN (
    SELECT updated_ms, finding_id FROM finding_runs WHERE app_id = ${app_id:sqlstring}
  )
  ORDER BY updated_ms DESC
  LIMIT 1 BY finding_id
)
ORDER BY state = 'firing' DESC, indexOf(['critical', 'warning', 'info'], assumeNotNull(severity)), since DESC
LIMIT 100
