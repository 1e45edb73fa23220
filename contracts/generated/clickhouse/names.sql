CREATE TABLE IF NOT EXISTS names (
  `cluster` Nullable(String),
  `tenant` Nullable(String),
  `app_id` String,
  `app_attempt` Int32,
  `app_start_ms` Int64 CODEC(Delta, ZSTD(1)),
  `kind` String,
  `query_id` Nullable(Int64),
  `stage_id` Nullable(Int32),
  `name` Nullable(String),
  `title` Nullable(String),
  `sources` Nullable(String),
  `sink` Nullable(String),
  `call_site` Nullable(String),
  `job_key` Nullable(String),
  `stage_fingerprint` Nullable(String),
  `updated_ms` Int64 CODEC(Delta, ZSTD(1)),
  `kafka_partition` Int32,
  `kafka_offset` Int64 CODEC(Delta, ZSTD(1)),
  `inserted_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  INDEX by_app_id app_id TYPE bloom_filter(0.001) GRANULARITY 1
) ENGINE = ReplacingMergeTree(updated_ms)
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (app_id, app_start_ms, app_attempt, kind, if(kind = 'query', ifNull(query_id, -1), -1), ifNull(stage_id, -1))
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1
