-- Share of the maximum heap that each executor uses.
SELECT
  fromUnixTimestamp64Milli(assumeNotNull(window_end_ms)) AS time,
  concat('executor ', assumeNotNull(executor_executor_id)) AS executor,
  max(executor_heap_used_bytes / nullIf(executor_heap_max_bytes, 0)) AS heap
FROM live
WHERE app_id = ${app_id:sqlstring} AND row = 'executor' AND window_end_ms BETWEEN ${__from} AND ${__to}
GROUP BY time, executor
ORDER BY time, executor
