CREATE TABLE IF NOT EXISTS dead_letters (
  `component` Nullable(String),
  `topic` Nullable(String),
  `origin_kafka_partition` Nullable(Int32),
  `origin_kafka_offset` Nullable(Int64),
  `reason` Nullable(String),
  `payload` Nullable(String),
  `seen_ms` Nullable(Int64) CODEC(Delta, ZSTD(1)),
  `kafka_partition` Int32,
  `kafka_offset` Int64 CODEC(Delta, ZSTD(1)),
  `inserted_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  INDEX by_seen_ms seen_ms TYPE minmax GRANULARITY 1
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(inserted_at)
ORDER BY (kafka_partition, kafka_offset)
TTL toDateTime(inserted_at) + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
