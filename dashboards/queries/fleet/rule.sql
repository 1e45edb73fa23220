-- Firing findings of one rule over time.
SELECT
  toStartOfInterval(fromUnixTimestamp64Milli(updated_ms), INTERVAL $__interval_s SECOND) AS time,
  severity,
  uniqExact(finding_id) AS firing
FROM findings
WHERE rule = '{rule}' AND state = 'firing' AND updated_ms BETWEEN ${__from} AND ${__to}
GROUP BY time, severity
ORDER BY time, severity
