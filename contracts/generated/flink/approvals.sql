CREATE TABLE `approvals` (
  `payload` STRING,
  `signature` STRING,
  `key_id` STRING,
  `purpose` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = '{prefix}.approvals',
  'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = '{prefix}.flink.approvals',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'value.format' = 'json',
  'value.json.ignore-parse-errors' = 'true',
  'value.json.encode.ignore-null-fields' = 'true'
)
