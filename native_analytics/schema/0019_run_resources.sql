-- What each ended run was allocated and how much of it tasks used, from which costs and waste are computed. The loader
-- fills it day by day; a row whose allocation is known is never replaced by one whose allocation has expired.
CREATE TABLE IF NOT EXISTS run_resources (
{columns:run_resources}
) ENGINE = ReplacingMergeTree(known)
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (app_start_ms, app_id, app_attempt)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1, index_granularity = 256, non_replicated_deduplication_window = 1000;
