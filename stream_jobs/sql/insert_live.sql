-- One sink for all rows, which keeps the order in which ApplicationFold emits them.
INSERT INTO live_rows
SELECT app_id, live_row
FROM application_fold(
  input => TABLE application_inputs PARTITION BY (cluster, tenant, app_id, app_attempt, app_start_ms),
  window_ms => CAST({window_ms} AS BIGINT),
  source => '{source}',
  on_time => DESCRIPTOR(happened_at),
  uid => 'application-fold')
