CREATE TABLE IF NOT EXISTS baselines (
  `job_key` String,
  `stage_fingerprint` String,
  `stage_name` Nullable(String),
  `updated_ms` Int64 CODEC(Delta, ZSTD(1)),
  `samples` Array(Tuple(run_key Nullable(String), learned_ms Nullable(Int64), wall_ms Nullable(Int64), cpu_ms Nullable(Int64), work_bytes Nullable(Int64), work_records Nullable(Int64), num_tasks Nullable(Int32), abnormal Nullable(Bool), operator_rows Nullable(Int64), between_jobs_ms Nullable(Int64), disk_spilled_bytes Nullable(Int64), reference Nullable(Bool), slow_runs Nullable(Int32), level_ratio Nullable(Float64), spark_version Nullable(String), executors Nullable(Int64), plan Nullable(String))),
  `cluster` Nullable(String),
  `tenant` Nullable(String),
  `level_changed_ms` Nullable(Int64) CODEC(Delta, ZSTD(1)),
  `accepted_ms` Nullable(Int64) CODEC(Delta, ZSTD(1)),
  `kafka_partition` Int32,
  `kafka_offset` Int64 CODEC(Delta, ZSTD(1)),
  `inserted_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') CODEC(Delta, ZSTD(1))
) ENGINE = ReplacingMergeTree(updated_ms)
ORDER BY (job_key, stage_fingerprint, ifNull(cluster, 'default'), ifNull(tenant, 'default'))
