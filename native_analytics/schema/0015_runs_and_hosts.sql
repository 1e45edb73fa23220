-- Small tables that the loader derives, so that filters and searches read few rows.
-- job_runs: the identity of each run in the order of its job. If the identity of a run is known better later, the earlier
-- row can remain, so readers compare the runs that they find with the view applications.
CREATE TABLE IF NOT EXISTS job_runs (
{columns:job_runs},
  INDEX by_app_start_ms app_start_ms TYPE minmax GRANULARITY 1
) ENGINE = ReplacingMergeTree(known)
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (job_key, app_start_ms, app_id, app_attempt)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1, index_granularity = 256, non_replicated_deduplication_window = 10000;
{fill:job_runs};
-- finding_hosts: for each host, the latest version of each finding that names it.
CREATE TABLE IF NOT EXISTS finding_hosts (
{columns:finding_hosts}
) ENGINE = ReplacingMergeTree(updated_ms)
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (host, finding_id)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1, index_granularity = 1024, non_replicated_deduplication_window = 1000;
INSERT INTO finding_hosts (host, finding_id, updated_ms, inserted_at)
SELECT host, finding_id, max(updated_ms) AS updated_ms, max(inserted_at) AS inserted_at
FROM findings
ARRAY JOIN arrayDistinct(arrayConcat(
    if(startsWith(ifNull(scope, ''), 'host:'), [substring(assumeNotNull(scope), 6)], []),
    arrayFlatten(arrayMap(run -> mapValues(mapFilter((name, value) -> value != '' AND (name = 'host' OR endsWith(name, '_host')), run.evidence)), runs)),
    arrayFilter(
        word -> match(word, '^[0-9]+([.][0-9]+){3}$') OR (match(word, '[A-Za-z]') AND match(word, '[0-9.-]')),
        arrayMap(word -> trim(TRAILING '.' FROM word), extractAll(ifNull(description, ''), '[A-Za-z0-9._-]+'))))) AS host
GROUP BY host, finding_id
SETTINGS max_partitions_per_insert_block = 0;
