CREATE TABLE `dead_letters` (
  `component` STRING,
  `topic` STRING,
  `kafka_partition` INT,
  `kafka_offset` BIGINT,
  `reason` STRING,
  `payload` BYTES,
  `seen_ms` BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = '{prefix}.dead-letters',
  'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = '{prefix}.flink.dead-letters',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'value.format' = 'json',
  'value.json.ignore-parse-errors' = 'true',
  'value.json.encode.ignore-null-fields' = 'true'
)
