-- Bytes that each stage has spilled to disk, over time.
SELECT
  fromUnixTimestamp64Milli(assumeNotNull(window_end_ms)) AS time,
  concat('stage ', toString(stage_stage_id), '.', toString(stage_stage_attempt)) AS stage,
  max(stage_disk_spilled_bytes) AS spilled
FROM live
WHERE app_id = ${app_id:sqlstring} AND row = 'stage' AND window_end_ms BETWEEN ${__from} AND ${__to}
GROUP BY time, stage
HAVING spilled > 0
ORDER BY time, stage
