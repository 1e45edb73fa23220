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
  WHERE arrayExists(run -> run.app_id = ${app_id:sqlstring}, runs)
  ORDER BY updated_ms DESC
  LIMIT 1 BY finding_id
)
ORDER BY state = 'firing' DESC, indexOf(['critical', 'warning', 'info'], assumeNotNull(severity)), since DESC
LIMIT 100
