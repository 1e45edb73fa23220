CREATE TABLE IF NOT EXISTS stage_expectations (
  `cluster` Nullable(String),
  `tenant` Nullable(String),
  `app_id` String,
  `app_attempt` Int32,
  `app_start_ms` Int64 CODEC(Delta, ZSTD(1)),
  `stage_id` Int32,
  `stage_attempt` Int32,
  `window_end_ms` Int64 CODEC(Delta, ZSTD(1)),
  `status` Nullable(String),
  `job_key` Nullable(String),
  `run_key` Nullable(String),
  `owner` Nullable(String),
  `team` Nullable(String),
  `stage_fingerprint` Nullable(String),
  `stage_name` Nullable(String),
  `query_id` Nullable(Int64),
  `query_name` Nullable(String),
  `baseline_runs` Nullable(Int64),
  `expected_ms` Nullable(Int64),
  `expected_p95_ms` Nullable(Int64),
  `work_measure` Nullable(String),
  `deadline_ms` Nullable(Int64) CODEC(Delta, ZSTD(1)),
  `deadline_source` Nullable(String),
  `core_ms` Nullable(Int64),
  `cost` Nullable(Float64),
  `currency` Nullable(String),
  `source` Nullable(String),
  `kafka_partition` Int32,
  `kafka_offset` Int64 CODEC(Delta, ZSTD(1)),
  `inserted_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  INDEX by_app_id app_id TYPE bloom_filter(0.001) GRANULARITY 1
) ENGINE = ReplacingMergeTree(window_end_ms)
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (app_id, app_start_ms, app_attempt, stage_id, stage_attempt, ifNull(cluster, 'default'), ifNull(tenant, 'default'))
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1
