-- The stages that put most on disk.
SELECT
  app_id,
  concat(toString(stage_stage_id), '.', toString(stage_stage_attempt)) AS stage,
  stage_name AS name,
  stage_status AS status,
  stage_disk_spilled_bytes AS spilled,
  stage_work_bytes AS work,
  stage_elapsed_ms AS elapsed
FROM (
  SELECT *
  FROM live
  WHERE view = 'stage_live' AND window_end_ms BETWEEN ${__from} AND ${__to}
  ORDER BY row_seq DESC
  LIMIT 1 BY app_id, app_start_ms, stage_stage_id, stage_stage_attempt
)
WHERE spilled > 0
ORDER BY spilled DESC
LIMIT 20
