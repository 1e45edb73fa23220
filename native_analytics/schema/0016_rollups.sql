-- Sums for each day, which the loader computes from ended rows and which are kept for years. A day that is computed again
-- replaces the earlier row, unless rows have expired since then and it would count less.
CREATE TABLE IF NOT EXISTS job_days (
  job_key String,
  day Date,
  cluster String,
  tenant String,
  team String,
  runs UInt64,
  failed_runs UInt64,
  elapsed_ms UInt64,
  elapsed_quantiles AggregateFunction(quantilesTDigest(0.5, 0.95), Float64),
  finished_tasks UInt64,
  failed_tasks UInt64,
  disk_spilled_bytes UInt64,
  inserted_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
) ENGINE = ReplacingMergeTree(runs)
PARTITION BY toYear(day)
ORDER BY (job_key, day, cluster, tenant, team)
TTL day + INTERVAL 1830 DAY
SETTINGS ttl_only_drop_parts = 1, index_granularity = 1024;
CREATE TABLE IF NOT EXISTS host_days (
  host String,
  day Date,
  executors UInt64,
  lost_executors UInt64,
  applications UInt64,
  inserted_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
) ENGINE = ReplacingMergeTree(executors)
PARTITION BY toYear(day)
ORDER BY (host, day)
TTL day + INTERVAL 1830 DAY
SETTINGS ttl_only_drop_parts = 1, index_granularity = 1024;
