-- Share of time that the JVM of each executor spent in garbage collection.
SELECT
  fromUnixTimestamp64Milli(assumeNotNull(window_end_ms)) AS time,
  concat('executor ', assumeNotNull(executor_executor_id)) AS executor,
  max(executor_gc_share) AS gc
FROM live
WHERE app_id = ${app_id:sqlstring} AND row = 'executor' AND window_end_ms BETWEEN ${__from} AND ${__to}
GROUP BY time, executor
ORDER BY time, executor
