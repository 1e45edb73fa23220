-- The latest row of each stage attempt, and the median duration in earlier runs of the job.
-- Earlier runs started at most 30 days before and have the same application name except for its digits, because dates
-- and ids differ between runs.
WITH
  (SELECT max(app_start_ms) FROM application_rows WHERE app_id = ${app_id:sqlstring}) AS started,
  runs AS (
    SELECT app_id, app_start_ms, replaceRegexpAll(any(application_name), '[0-9]+', '#') AS job
    FROM application_rows
    WHERE row = 'application' AND application_name IS NOT NULL
      AND app_start_ms BETWEEN started - 2592000000 AND started
    GROUP BY app_id, app_start_ms
  ),
  earlier AS (
    SELECT app_id, app_start_ms
    FROM runs
    WHERE job = (SELECT any(job) FROM runs WHERE app_id = ${app_id:sqlstring} AND app_start_ms = started)
      AND app_start_ms < started
    ORDER BY app_start_ms DESC
    LIMIT 50
  ),
  known AS (
    SELECT stage_id, name, median(elapsed_ms) AS usual_ms
    FROM best_stages
    WHERE status = 'succeeded' AND (app_id, app_start_ms) IN earlier
    GROUP BY stage_id, name
  ),
  named AS (
    SELECT stage_id, argMax(name, updated_ms) AS name
    FROM names
    WHERE app_id = ${app_id:sqlstring} AND app_start_ms = started AND kind = 'stage'
    GROUP BY stage_id
  ),
  latest AS (
    SELECT *
    FROM live
    WHERE app_id = ${app_id:sqlstring} AND app_start_ms = started AND row = 'stage'
    ORDER BY row_epoch_ms DESC, row_seq DESC
    LIMIT 1 BY stage_stage_id, stage_stage_attempt
  )
SELECT
  concat(toString(latest.stage_stage_id), '.', toString(latest.stage_stage_attempt)) AS stage,
  coalesce(nullIf(named.name, ''), concat('stage ', toString(latest.stage_stage_id))) AS name,
  latest.stage_status AS status,
  latest.stage_elapsed_ms AS elapsed,
  coalesce(toFloat64(latest.stage_expected_ms), known.usual_ms) AS expected,
  latest.stage_elapsed_ms / nullIf(expected, 0) AS against_expected,
  latest.stage_succeeded_tasks / nullIf(latest.stage_num_tasks, 0) AS done,
  latest.stage_running_tasks AS running_tasks,
  latest.stage_failed_tasks AS failed_tasks,
  latest.stage_work_bytes AS work,
  latest.stage_disk_spilled_bytes AS spilled,
  latest.stage_bytes_ratio AS biggest_task,
  latest.stage_lost_ms AS lost,
  latest.completeness AS completeness
FROM latest
LEFT JOIN named ON named.stage_id = latest.stage_stage_id
LEFT JOIN known ON known.stage_id = latest.stage_stage_id AND known.name = latest.stage_name
ORDER BY latest.stage_status = 'running' DESC, elapsed DESC
LIMIT 200
