CREATE TABLE `positions` (
  `shipper` STRING,
  `log` STRING,
  `app_id` STRING,
  `app_attempt` INT,
  `app_start_ms` BIGINT,
  `file_index` BIGINT,
  `read_plain_bytes` BIGINT,
  `next_seq` MAP<STRING, STRING>,
  `state` STRING,
  `updated_ms` BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = '{prefix}.positions',
  'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = '{prefix}.flink.positions',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'key.format' = 'json',
  'key.fields' = 'shipper;log',
  'value.fields-include' = 'ALL',
  'value.format' = 'json',
  'value.json.ignore-parse-errors' = 'true',
  'value.json.encode.ignore-null-fields' = 'true'
)
