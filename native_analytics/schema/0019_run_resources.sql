-- The allocation of each ended run, and the part of the allocation that its tasks used. Costs and waste are computed from
-- this table. The loader fills it day by day; a row is not replaced by one whose executors have partly expired.
CREATE TABLE IF NOT EXISTS run_resources (
{columns:run_resources}
) ENGINE = ReplacingMergeTree(executors)
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (app_start_ms, app_id, app_attempt)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1, index_granularity = 256, non_replicated_deduplication_window = 1000;
