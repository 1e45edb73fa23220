CREATE TABLE `baselines` (
  `job_key` STRING,
  `stage_fingerprint` STRING,
  `stage_name` STRING,
  `updated_ms` BIGINT,
  `samples` ARRAY<ROW<`run_key` STRING, `learned_ms` BIGINT, `wall_ms` BIGINT, `cpu_ms` BIGINT, `work_bytes` BIGINT, `work_records` BIGINT, `num_tasks` INT, `abnormal` BOOLEAN, `operator_rows` BIGINT, `between_jobs_ms` BIGINT, `disk_spilled_bytes` BIGINT, `reference` BOOLEAN, `slow_runs` INT, `level_ratio` DOUBLE, `spark_version` STRING, `executors` BIGINT, `plan` STRING>>,
  `cluster` STRING,
  `tenant` STRING,
  `level_changed_ms` BIGINT,
  `accepted_ms` BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = '{prefix}.baselines',
  'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = '{prefix}.flink.baselines',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'key.format' = 'json',
  'key.fields' = 'cluster;tenant;job_key;stage_fingerprint',
  'value.fields-include' = 'ALL',
  'value.format' = 'json',
  'value.json.ignore-parse-errors' = 'true',
  'value.json.encode.ignore-null-fields' = 'true'
)
