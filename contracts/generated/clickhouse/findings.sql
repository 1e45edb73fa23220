CREATE TABLE IF NOT EXISTS findings (
  `finding_id` String,
  `rule` Nullable(String),
  `severity` Nullable(String),
  `state` Nullable(String),
  `job_key` Nullable(String),
  `scope` Nullable(String),
  `summary` Nullable(String),
  `description` Nullable(String),
  `runbook_url` Nullable(String),
  `cluster` Nullable(String),
  `tenant` Nullable(String),
  `started_ms` Nullable(Int64) CODEC(Delta, ZSTD(1)),
  `updated_ms` Int64 CODEC(Delta, ZSTD(1)),
  `resolved_ms` Nullable(Int64) CODEC(Delta, ZSTD(1)),
  `evidence_ms` Nullable(Int64) CODEC(Delta, ZSTD(1)),
  `completeness` Nullable(Float64),
  `runs` Array(Tuple(run_key Nullable(String), app_id Nullable(String), app_attempt Nullable(Int32), app_start_ms Nullable(Int64), stage_id Nullable(Int32), stage_attempt Nullable(Int32), task_id Nullable(Int64), executor_id Nullable(String), state Nullable(String), severity Nullable(String), started_ms Nullable(Int64), resolved_ms Nullable(Int64), evidence Map(String, String), query_id Nullable(Int64), stage_name Nullable(String), cost Nullable(Float64), cost_avoidable Nullable(Float64))),
  `owner` Nullable(String),
  `team` Nullable(String),
  `currency` Nullable(String),
  `precision_target` Nullable(Float64),
  `kafka_partition` Int32,
  `kafka_offset` Int64 CODEC(Delta, ZSTD(1)),
  `inserted_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  INDEX by_finding_id finding_id TYPE bloom_filter(0.001) GRANULARITY 1
) ENGINE = ReplacingMergeTree()
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (updated_ms, finding_id)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1
