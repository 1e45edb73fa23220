-- The stages that spilled most to disk.
WITH latest AS (
  SELECT *
  FROM live
  WHERE row = 'stage' AND window_end_ms BETWEEN ${__from} AND ${__to}
  ORDER BY row_epoch_ms DESC, row_seq DESC
  LIMIT 1 BY app_id, app_start_ms, stage_stage_id, stage_stage_attempt
),
most AS (
  SELECT *
  FROM latest
  WHERE stage_disk_spilled_bytes > 0
  ORDER BY stage_disk_spilled_bytes DESC
  LIMIT 20
)
SELECT
  most.app_id AS app_id,
  concat(toString(stage_stage_id), '.', toString(stage_stage_attempt)) AS stage,
  coalesce(nullIf(named.name, ''), concat('stage ', toString(stage_stage_id))) AS name,
  stage_status AS status,
  stage_disk_spilled_bytes AS spilled,
  stage_work_bytes AS work,
  stage_elapsed_ms AS elapsed
FROM most
LEFT JOIN (
  SELECT app_id, app_start_ms, stage_id, argMax(name, updated_ms) AS name
  FROM names
  WHERE kind = 'stage' AND app_id IN (SELECT app_id FROM most)
  GROUP BY app_id, app_start_ms, stage_id
) AS named
  ON named.app_id = most.app_id AND named.app_start_ms = most.app_start_ms AND named.stage_id = most.stage_stage_id
ORDER BY spilled DESC
LIMIT 20
