-- How many applications had news, window by window.
SELECT
  toStartOfInterval(fromUnixTimestamp64Milli(assumeNotNull(window_end_ms)), INTERVAL $__interval_s SECOND) AS time,
  uniqExact(app_id, app_start_ms) AS applications
FROM live
WHERE view = 'app_live' AND window_end_ms BETWEEN ${__from} AND ${__to} AND application_status = 'running'
GROUP BY time
ORDER BY time
