CREATE TABLE IF NOT EXISTS signals (
  `payload` Nullable(String),
  `signature` Nullable(String),
  `key_id` Nullable(String),
  `kafka_partition` Int32,
  `kafka_offset` Int64,
  `inserted_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
) ENGINE = ReplacingMergeTree()
ORDER BY (kafka_partition, kafka_offset)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
