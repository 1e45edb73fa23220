-- Firing findings by rule and severity. They are sent again each minute, so a finding without a record for five minutes no longer fires.
SELECT rule, severity, count() AS firing, uniqExact(job_key) AS jobs
FROM (
  SELECT *
  FROM findings
  WHERE updated_ms BETWEEN ${__from} AND ${__to}
  ORDER BY updated_ms DESC
  LIMIT 1 BY finding_id
)
WHERE state = 'firing' AND updated_ms >= ${__to} - 300000
GROUP BY rule, severity
ORDER BY indexOf(['critical', 'warning', 'info'], assumeNotNull(severity)), firing DESC
