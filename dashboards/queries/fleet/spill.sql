-- The stages that spilled most to disk.
SELECT
  latest.app_id AS app_id,
  concat(toString(stage_stage_id), '.', toString(stage_stage_attempt)) AS stage,
  coalesce(nullIf(named.name, ''), concat('stage ', toString(stage_stage_id))) AS name,
  stage_status AS status,
  stage_disk_spilled_bytes AS spilled,
  stage_work_bytes AS work,
  stage_elapsed_ms AS elapsed
FROM (
  SELECT *
  FROM live
  WHERE view = 'stage_live' AND window_end_ms BETWEEN ${__from} AND ${__to}
  ORDER BY row_epoch_ms DESC, row_seq DESC
  LIMIT 1 BY app_id, app_start_ms, stage_stage_id, stage_stage_attempt
) AS latest
LEFT JOIN (
  SELECT app_id, app_start_ms, stage_id, argMax(name, updated_ms) AS name
  FROM names
  WHERE kind = 'stage'
  GROUP BY app_id, app_start_ms, stage_id
) AS named
  ON named.app_id = latest.app_id AND named.app_start_ms = latest.app_start_ms AND named.stage_id = latest.stage_stage_id
WHERE spilled > 0
ORDER BY spilled DESC
LIMIT 20
