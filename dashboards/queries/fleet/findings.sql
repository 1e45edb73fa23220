-- The latest record of each finding in the range; app_id is the latest run.
SELECT
  severity,
  state,
  rule,
  job_key AS job,
  description,
  arraySort(run -> ifNull(run.started_ms, 0), runs)[-1].app_id AS app_id,
  fromUnixTimestamp64Milli(started_ms) AS since,
  fromUnixTimestamp64Milli(resolved_ms) AS resolved,
  completeness,
  runbook_url AS runbook
FROM (
  SELECT *
  FROM findings
  WHERE updated_ms BETWEEN ${__from} AND ${__to}
  ORDER BY updated_ms DESC
  LIMIT 1 BY finding_id
)
ORDER BY state = 'firing' DESC, indexOf(['critical', 'warning', 'info'], assumeNotNull(severity)), since DESC
LIMIT 500
