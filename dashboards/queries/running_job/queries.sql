-- The latest row of each query of the run, with the name that detection gave it.
WITH
  (SELECT max(app_start_ms) FROM application_rows WHERE app_id = ${app_id:sqlstring}) AS started,
  named AS (
    SELECT query_id, argMax(name, updated_ms) AS name, argMax(sources, updated_ms) AS sources,
      argMax(sink, updated_ms) AS sink
    FROM names
    WHERE app_id = ${app_id:sqlstring} AND app_start_ms = started AND kind = 'query'
    GROUP BY query_id
  ),
  latest AS (
    SELECT *
    FROM live
    WHERE app_id = ${app_id:sqlstring} AND app_start_ms = started AND row = 'query'
    ORDER BY row_epoch_ms DESC, row_seq DESC
    LIMIT 1 BY query_query_id
  )
SELECT
  latest.query_query_id AS id,
  coalesce(nullIf(named.name, ''), concat('query ', toString(latest.query_query_id))) AS query,
  latest.query_status AS status,
  latest.query_elapsed_ms AS elapsed,
  named.sources AS sources,
  named.sink AS sink,
  latest.query_call_site AS call_site,
  latest.query_running_tasks AS running_tasks,
  latest.query_input_bytes AS input,
  latest.query_disk_spilled_bytes AS spilled,
  latest.query_stage_ids AS stages,
  latest.query_failure_reason AS failure
FROM latest
LEFT JOIN named ON named.query_id = latest.query_query_id
ORDER BY status = 'running' DESC, elapsed DESC
LIMIT 200
