-- The topic live for writing: ApplicationFold encodes the LiveRow, so the table has one column for it.
CREATE TEMPORARY TABLE live_rows (
  app_id STRING,
  live_row BYTES
) WITH (
  'connector' = 'kafka',
  'topic' = '{prefix}.live',
  'properties.bootstrap.servers' = '{bootstrap}',
  'properties.linger.ms' = '5',
  'properties.compression.type' = 'lz4',
  'sink.delivery-guarantee' = 'at-least-once',
  'key.format' = 'raw',
  'key.fields' = 'app_id',
  'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY'
)
