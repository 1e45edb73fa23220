-- Small tables that the loader derives from its batches, so that lists and pages do not read all rows of live and findings.
-- application_rows: the latest row of each kind of an application attempt, with the row of its event log as kind 'history'.
CREATE TABLE IF NOT EXISTS application_rows (
{columns:application_rows},
  INDEX by_app_id app_id TYPE bloom_filter(0.001) GRANULARITY 1,
  INDEX by_window_end_ms window_end_ms TYPE minmax GRANULARITY 1
) ENGINE = ReplacingMergeTree(row_seq)
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (app_start_ms, app_id, app_attempt, row, ifNull(row_epoch_ms, 0), ifNull(cluster, 'default'),
          ifNull(tenant, 'default'))
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1, index_granularity = 256, non_replicated_deduplication_window = 10000,
         min_bytes_for_wide_part = 268435456;
INSERT INTO application_rows ({names:application_rows})
SELECT {names:application_rows} FROM live WHERE row IN ('application', 'application_started', 'application_ended')
SETTINGS max_partitions_per_insert_block = 0;
INSERT INTO application_rows (row, row_seq, {names:logged_applications})
SELECT 'history', 0, {sources:logged_applications} FROM history FINAL WHERE row = 'application'
SETTINGS max_partitions_per_insert_block = 0;
-- host_executors: the executors of each host, and whether they were lost.
CREATE TABLE IF NOT EXISTS host_executors (
{columns:host_executors}
) ENGINE = ReplacingMergeTree(seen_ms)
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (host, app_start_ms, app_id, app_attempt, executor_id, lost)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1, index_granularity = 1024, non_replicated_deduplication_window = 10000;
INSERT INTO host_executors (app_id, app_attempt, app_start_ms, host, executor_id, lost, seen_ms, inserted_at)
SELECT
    app_id,
    app_attempt,
    app_start_ms,
    assumeNotNull(coalesce(executor_host, executor_added_host, executor_loss_host)) AS host,
    assumeNotNull(coalesce(executor_executor_id, executor_added_executor_id, executor_loss_executor_id)) AS executor_id,
    row = 'executor_loss' AS lost,
    max(ifNull(window_end_ms, 0)) AS seen_ms,
    max(inserted_at) AS inserted_at
FROM live
WHERE row IN ('executor', 'executor_added', 'executor_loss')
  AND coalesce(executor_host, executor_added_host, executor_loss_host) IS NOT NULL
  AND coalesce(executor_executor_id, executor_added_executor_id, executor_loss_executor_id) IS NOT NULL
GROUP BY app_id, app_attempt, app_start_ms, host, executor_id, lost
SETTINGS max_partitions_per_insert_block = 0;
-- current_findings: the latest version of each finding, with the columns that lists are filtered and sorted by.
-- A finding is of one job for ever, so the job can precede its id.
CREATE TABLE IF NOT EXISTS current_findings (
{columns:current_findings},
  INDEX by_finding_id finding_id TYPE bloom_filter(0.001) GRANULARITY 1
) ENGINE = ReplacingMergeTree(updated_ms)
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (ifNull(job_key, ''), finding_id)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1, index_granularity = 128, non_replicated_deduplication_window = 1000;
INSERT INTO current_findings ({names:current_findings})
SELECT {names:current_findings} FROM findings ORDER BY updated_ms DESC LIMIT 1 BY finding_id
SETTINGS max_partitions_per_insert_block = 0;
-- finding_runs: for each application, the latest version of each finding that lists a run of the application.
CREATE TABLE IF NOT EXISTS finding_runs (
{columns:finding_runs}
) ENGINE = ReplacingMergeTree(updated_ms)
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (app_id, finding_id)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1, index_granularity = 1024, non_replicated_deduplication_window = 1000;
INSERT INTO finding_runs (app_id, finding_id, updated_ms, inserted_at)
SELECT assumeNotNull(run.app_id) AS app_id, finding_id, max(updated_ms) AS updated_ms, max(inserted_at) AS inserted_at
FROM findings ARRAY JOIN runs AS run
WHERE run.app_id IS NOT NULL
GROUP BY app_id, finding_id
SETTINGS max_partitions_per_insert_block = 0;
-- One row for each application attempt. One that is known to have ended is preferred, then the better evidence, then live
-- rows. Columns come from the newest epoch; a column that it does not know comes from the epoch before.
DROP VIEW IF EXISTS applications;
DROP VIEW IF EXISTS live_applications;
CREATE VIEW IF NOT EXISTS applications AS
SELECT * EXCEPT (logged) FROM (
    WITH (ifNull(row_epoch_ms, 0), row_seq) AS place, row IN ('application', 'history') AS current
    SELECT
        app_id,
        app_start_ms,
        app_attempt,
        row = 'history' AS logged,
        argMax(cluster, place) AS cluster,
        argMax(tenant, place) AS tenant,
        max(window_end_ms) AS window_end_ms,
        argMaxIf(completeness, place, current) AS completeness,
        coalesce(argMaxIf(application_started_name, place, row = 'application_started'),
                 argMaxIf(application_name, place, current)) AS name,
        coalesce(argMaxIf(application_started_user_name, place, row = 'application_started'),
                 argMaxIf(application_user_name, place, current)) AS user_name,
        coalesce(argMaxIf(application_started_spark_version, place, row = 'application_started'),
                 argMaxIf(application_spark_version, place, current)) AS spark_version,
        argMaxIf(application_started_plugin_version, place, row = 'application_started') AS plugin_version,
        argMaxIf(application_started_master, place, row = 'application_started') AS master,
        if(logged, map('spark.sparkfuse.job', ifNull(argMax(job_key, place), '')),
           argMaxIf(application_started_properties, place, row = 'application_started')) AS properties,
        coalesce(argMaxIf(application_status, place, current), 'running') AS status,
        coalesce(argMaxIf(application_ended_ms, place, current),
                 argMaxIf(application_ended_ended_ms, place, row = 'application_ended')) AS ended_ms,
        argMaxIf(application_elapsed_ms, place, current) AS elapsed_ms,
        argMaxIf(application_running_jobs, place, current) AS running_jobs,
        argMaxIf(application_succeeded_jobs, place, current) AS succeeded_jobs,
        argMaxIf(application_failed_jobs, place, current) AS failed_jobs,
        argMaxIf(application_running_stages, place, current) AS running_stages,
        argMaxIf(application_ended_stages, place, current) AS ended_stages,
        argMaxIf(application_running_tasks, place, current) AS running_tasks,
        argMaxIf(application_finished_tasks, place, current) AS finished_tasks,
        argMaxIf(application_failed_tasks, place, current) AS failed_tasks,
        argMaxIf(application_executors, place, current) AS executors,
        argMaxIf(application_disk_spilled_bytes, place, current) AS disk_spilled_bytes,
        argMaxIf(application_facts_seen, place, current AND NOT logged) AS facts_seen,
        argMaxIf(application_facts_expected, place, current AND NOT logged) AS facts_expected,
        argMaxIf(application_facts_dropped, place, current AND NOT logged) AS facts_dropped
    FROM application_rows
    GROUP BY app_id, app_start_ms, app_attempt, logged
)
ORDER BY status != 'running' DESC, ifNull(completeness, 0) DESC, logged ASC
LIMIT 1 BY app_id, app_start_ms, app_attempt;
