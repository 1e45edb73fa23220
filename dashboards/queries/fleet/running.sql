-- Number of running applications over time; applications with a silent driver are not counted.
SELECT
  toStartOfInterval(fromUnixTimestamp64Milli(assumeNotNull(window_end_ms)), INTERVAL $__interval_s SECOND) AS time,
  uniqExact(app_id, app_start_ms) AS applications
FROM live
WHERE row = 'application' AND window_end_ms BETWEEN ${__from} AND ${__to} AND application_status = 'running'
  AND ifNull(application_driver_silent_ms, 0) <= 120000
GROUP BY time
ORDER BY time
