-- The topic live, as its writer sees it: ApplicationFold makes the whole LiveRow, so the table has it in one column.
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
