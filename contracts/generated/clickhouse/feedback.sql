CREATE TABLE IF NOT EXISTS feedback (
  `finding_id` String,
  `person` String,
  `verdict` Nullable(String),
  `note` Nullable(String),
  `at_ms` Int64 CODEC(Delta, ZSTD(1)),
  `rule` Nullable(String),
  `job_key` Nullable(String),
  `cluster` Nullable(String),
  `tenant` Nullable(String),
  `team` Nullable(String),
  `kafka_partition` Int32,
  `kafka_offset` Int64 CODEC(Delta, ZSTD(1)),
  `inserted_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') CODEC(Delta, ZSTD(1))
) ENGINE = ReplacingMergeTree(at_ms)
ORDER BY (finding_id, person)
