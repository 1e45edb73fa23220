-- Rows of live have an epoch, and the keys of live and ended_stages contain the epoch, the cluster and the tenant, so that
-- a row replaces only itself. A sorting key cannot get existing columns, so both tables are copied.
DROP TABLE IF EXISTS live_before_epochs;
DROP TABLE IF EXISTS live_by_epoch;
ALTER TABLE live {missing:live};
CREATE TABLE live_by_epoch (
{columns:live}
) ENGINE = ReplacingMergeTree
ORDER BY (app_id, app_start_ms, app_attempt, row_seq, ifNull(row_epoch_ms, 0), ifNull(cluster, 'default'),
          ifNull(tenant, 'default'))
TTL toDateTime(inserted_at) + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 268435456;
INSERT INTO live_by_epoch ({names:live}) SELECT {names:live} FROM live;
RENAME TABLE live TO live_before_epochs, live_by_epoch TO live;
DROP TABLE live_before_epochs;
DROP TABLE IF EXISTS ended_stages_before_epochs;
DROP TABLE IF EXISTS ended_stages_by_epoch;
ALTER TABLE ended_stages {missing:ended_stages};
ALTER TABLE logged_stages {missing:logged_stages};
CREATE TABLE ended_stages_by_epoch (
{columns:ended_stages}
) ENGINE = ReplacingMergeTree(row_seq)
ORDER BY (app_id, app_start_ms, app_attempt, stage_id, stage_attempt, ifNull(row_epoch_ms, 0),
          ifNull(cluster, 'default'), ifNull(tenant, 'default'))
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 268435456;
INSERT INTO ended_stages_by_epoch ({names:ended_stages}) SELECT {names:ended_stages} FROM ended_stages;
RENAME TABLE ended_stages TO ended_stages_before_epochs, ended_stages_by_epoch TO ended_stages;
DROP TABLE ended_stages_before_epochs;
-- Of several rows of one stage, the view prefers the better evidence, then the newest epoch, then the live row.
DROP VIEW IF EXISTS best_stages;
CREATE VIEW IF NOT EXISTS best_stages AS
SELECT * FROM (
    SELECT {names:ended_stages}, 1 AS seen_live FROM ended_stages FINAL
    UNION ALL
    SELECT {names:ended_stages}, 0 AS seen_live FROM logged_stages FINAL
)
ORDER BY ifNull(completeness, 0) DESC, seen_live DESC, row_epoch_ms DESC
LIMIT 1 BY app_id, app_start_ms, app_attempt, stage_id, stage_attempt;
-- Columns come from the newest epoch; a column that it does not know comes from the epoch before.
DROP VIEW IF EXISTS live_applications;
CREATE VIEW IF NOT EXISTS live_applications AS
WITH (ifNull(row_epoch_ms, 0), row_seq) AS place
SELECT
    app_id,
    app_start_ms,
    app_attempt,
    argMax(cluster, place) AS cluster,
    argMax(tenant, place) AS tenant,
    max(window_end_ms) AS window_end_ms,
    argMaxIf(completeness, place, row = 'application') AS completeness,
    coalesce(argMaxIf(application_started_name, place, row = 'application_started'),
             argMaxIf(application_name, place, row = 'application')) AS name,
    coalesce(argMaxIf(application_started_user_name, place, row = 'application_started'),
             argMaxIf(application_user_name, place, row = 'application')) AS user_name,
    coalesce(argMaxIf(application_started_spark_version, place, row = 'application_started'),
             argMaxIf(application_spark_version, place, row = 'application')) AS spark_version,
    argMaxIf(application_started_plugin_version, place, row = 'application_started') AS plugin_version,
    argMaxIf(application_started_master, place, row = 'application_started') AS master,
    argMaxIf(application_started_properties, place, row = 'application_started') AS properties,
    coalesce(argMaxIf(application_status, place, row = 'application'), 'running') AS status,
    coalesce(argMaxIf(application_ended_ms, place, row = 'application'),
             argMaxIf(application_ended_ended_ms, place, row = 'application_ended')) AS ended_ms,
    argMaxIf(application_elapsed_ms, place, row = 'application') AS elapsed_ms,
    argMaxIf(application_running_jobs, place, row = 'application') AS running_jobs,
    argMaxIf(application_succeeded_jobs, place, row = 'application') AS succeeded_jobs,
    argMaxIf(application_failed_jobs, place, row = 'application') AS failed_jobs,
    argMaxIf(application_running_stages, place, row = 'application') AS running_stages,
    argMaxIf(application_ended_stages, place, row = 'application') AS ended_stages,
    argMaxIf(application_running_tasks, place, row = 'application') AS running_tasks,
    argMaxIf(application_finished_tasks, place, row = 'application') AS finished_tasks,
    argMaxIf(application_failed_tasks, place, row = 'application') AS failed_tasks,
    argMaxIf(application_executors, place, row = 'application') AS executors,
    argMaxIf(application_disk_spilled_bytes, place, row = 'application') AS disk_spilled_bytes,
    argMaxIf(application_facts_seen, place, row = 'application') AS facts_seen,
    argMaxIf(application_facts_expected, place, row = 'application') AS facts_expected,
    argMaxIf(application_facts_dropped, place, row = 'application') AS facts_dropped
FROM live
GROUP BY app_id, app_start_ms, app_attempt;
