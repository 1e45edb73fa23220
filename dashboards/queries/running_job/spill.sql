-- Bytes on disk of each stage, as the windows saw them grow.
SELECT
  fromUnixTimestamp64Milli(assumeNotNull(window_end_ms)) AS time,
  concat('stage ', toString(stage_stage_id), '.', toString(stage_stage_attempt)) AS stage,
  max(stage_disk_spilled_bytes) AS spilled
FROM live
WHERE app_id = ${app_id:sqlstring} AND view = 'stage_live' AND window_end_ms BETWEEN ${__from} AND ${__to}
GROUP BY time, stage
HAVING spilled > 0
ORDER BY time, stage
