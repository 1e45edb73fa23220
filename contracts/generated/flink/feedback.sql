CREATE TABLE `feedback` (
  `finding_id` STRING,
  `person` STRING,
  `verdict` STRING,
  `note` STRING,
  `at_ms` BIGINT,
  `rule` STRING,
  `job_key` STRING,
  `cluster` STRING,
  `tenant` STRING,
  `team` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = '{prefix}.feedback',
  'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = '{prefix}.flink.feedback',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'key.format' = 'json',
  'key.fields' = 'finding_id;person',
  'value.fields-include' = 'ALL',
  'value.format' = 'json',
  'value.json.ignore-parse-errors' = 'true',
  'value.json.encode.ignore-null-fields' = 'true'
)
