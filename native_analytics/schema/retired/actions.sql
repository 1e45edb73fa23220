CREATE TABLE IF NOT EXISTS actions (
  `action_id` String,
  `signal_id` Nullable(String),
  `actor` Nullable(String),
  `cluster` Nullable(String),
  `app_id` String,
  `app_attempt` Nullable(Int32),
  `app_start_ms` Nullable(Int64),
  `rule` Nullable(String),
  `action` Nullable(String),
  `mode` Nullable(String),
  `outcome` Nullable(String),
  `reason` Nullable(String),
  `stage_id` Nullable(Int32),
  `stage_attempt` Nullable(Int32),
  `killed_tasks` Nullable(Int64),
  `at_ms` Int64,
  `observed` Map(String, String),
  `finding_id` Nullable(String),
  `kafka_partition` Int32,
  `kafka_offset` Int64,
  `inserted_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
) ENGINE = ReplacingMergeTree()
ORDER BY (app_id, at_ms, action_id)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
