-- What the windows read of the topic facts: only the columns they use, since what is declared is what is converted.
-- The time of everything here is the arrival at the broker (LogAppendTime), which rises within a partition;
-- 1 ms is held back because the records of one batch share their time.
CREATE TEMPORARY TABLE facts (
  cluster STRING,
  tenant STRING,
  app_id STRING,
  app_attempt INT,
  app_start_ms BIGINT,
  event_time_ms BIGINT,
  collector STRING,
  lane STRING,
  seq BIGINT,
  kind STRING,
  `value` BYTES,
  stage_started ROW<stage_id INT, stage_attempt INT>,
  stage_ended ROW<stage_id INT, stage_attempt INT>,
  task_started ROW<stage_id INT, stage_attempt INT, task_id BIGINT, launched_ms BIGINT>,
  task_ended ROW<
    stage_id INT, stage_attempt INT, task_id BIGINT, task_index INT, speculative BOOLEAN, finished_ms BIGINT,
    duration_ms BIGINT, outcome STRING, failure_class STRING, run_ms BIGINT, cpu_ns BIGINT, gc_ms BIGINT,
    memory_spilled_bytes BIGINT, disk_spilled_bytes BIGINT, input_bytes BIGINT, input_records BIGINT,
    output_bytes BIGINT, output_records BIGINT, shuffle_read_bytes BIGINT, shuffle_read_records BIGINT,
    fetch_wait_ms BIGINT, shuffle_write_bytes BIGINT, shuffle_write_records BIGINT>,
  task_progress ROW<stage_id INT, stage_attempt INT>,
  executor_sample ROW<executor_id STRING>,
  undecodable ROW<payload BYTES, reason STRING>,
  kafka_partition INT METADATA FROM 'partition' VIRTUAL,
  kafka_offset BIGINT METADATA FROM 'offset' VIRTUAL,
  arrived_at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  WATERMARK FOR arrived_at AS arrived_at - INTERVAL '0.001' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = '{prefix}.facts',
  'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = '{prefix}.windows',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'scan.watermark.idle-timeout' = '{idle_ms} ms',
  'value.format' = 'sparkfuse-fact'
)
