CREATE TABLE `pages` (
  `finding_id` STRING,
  `started_ms` BIGINT,
  `rule` STRING,
  `job_key` STRING,
  `tenant` STRING,
  `team` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = '{prefix}.pages',
  'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = '{prefix}.flink.pages',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'key.format' = 'raw',
  'key.fields' = 'finding_id',
  'value.fields-include' = 'ALL',
  'value.format' = 'json',
  'value.json.ignore-parse-errors' = 'true',
  'value.json.encode.ignore-null-fields' = 'true'
)
