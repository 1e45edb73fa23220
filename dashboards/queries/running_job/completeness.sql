-- Facts that arrived divided by facts that collectors numbered, since the start of the run.
SELECT
  fromUnixTimestamp64Milli(assumeNotNull(window_end_ms)) AS time,
  min(live.completeness) AS completeness
FROM live
WHERE app_id = ${app_id:sqlstring} AND row = 'application' AND window_end_ms BETWEEN ${__from} AND ${__to}
GROUP BY time
ORDER BY time
