-- The latest row of each stage attempt, with what the detect job published about the stage.
WITH
  (SELECT max(app_start_ms) FROM application_rows WHERE app_id = ${app_id:sqlstring}) AS started,
  named AS (
    SELECT stage_id, argMax(name, updated_ms) AS name
    FROM names
    WHERE app_id = ${app_id:sqlstring} AND app_start_ms = started AND kind = 'stage'
    GROUP BY stage_id
  ),
  published AS (
    SELECT stage_id, stage_attempt, expected_ms, expected_p95_ms, cost, currency
    FROM stage_expectations
    WHERE app_id = ${app_id:sqlstring} AND app_start_ms = started
    ORDER BY window_end_ms DESC
    LIMIT 1 BY stage_id, stage_attempt
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
  published.expected_ms AS expected,
  published.expected_p95_ms AS p95,
  latest.stage_elapsed_ms / nullIf(published.expected_ms, 0) AS against_expected,
  published.cost AS cost,
  published.currency AS currency,
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
LEFT JOIN published
  ON published.stage_id = latest.stage_stage_id AND published.stage_attempt = latest.stage_stage_attempt
ORDER BY latest.stage_status = 'running' DESC, elapsed DESC
LIMIT 200
