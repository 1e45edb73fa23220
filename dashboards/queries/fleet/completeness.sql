-- The lowest completeness of all applications.
SELECT
  toStartOfInterval(fromUnixTimestamp64Milli(assumeNotNull(window_end_ms)), INTERVAL $__interval_s SECOND) AS time,
  min(live.completeness) AS lowest
FROM live
WHERE row = 'application' AND window_end_ms BETWEEN ${__from} AND ${__to}
GROUP BY time
ORDER BY time
