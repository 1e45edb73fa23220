CREATE TABLE IF NOT EXISTS receipts (
  `receipt_id` String,
  `signal_id` Nullable(String),
  `cluster` Nullable(String),
  `app_id` String,
  `app_attempt` Nullable(Int32),
  `app_start_ms` Nullable(Int64) CODEC(Delta, ZSTD(1)),
  `rule` Nullable(String),
  `action` Nullable(String),
  `mode` Nullable(String),
  `outcome` Nullable(String),
  `gate` Nullable(String),
  `reason` Nullable(String),
  `stage_id` Nullable(Int32),
  `stage_attempt` Nullable(Int32),
  `query_id` Nullable(Int64),
  `task_id` Nullable(Int64),
  `freed_tasks` Nullable(Int64),
  `unfreed_tasks` Nullable(Int64),
  `at_ms` Int64 CODEC(Delta, ZSTD(1)),
  `observed` Map(String, String),
  `finding_id` Nullable(String),
  `unverified_records` Nullable(Int64),
  `actor` Nullable(String),
  `kafka_partition` Int32,
  `kafka_offset` Int64 CODEC(Delta, ZSTD(1)),
  `inserted_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  INDEX by_app_id app_id TYPE bloom_filter(0.001) GRANULARITY 1,
  INDEX by_at_ms at_ms TYPE minmax GRANULARITY 1
) ENGINE = ReplacingMergeTree()
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (app_id, at_ms, receipt_id)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1
