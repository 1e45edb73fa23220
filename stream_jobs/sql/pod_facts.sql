-- Facts about pods with the columns that identify their application.
SELECT cluster, tenant, app_id, app_attempt, app_start_ms, rowtime AS happened_at, fact
FROM pods_of_application(
  input => TABLE pod_inputs PARTITION BY (cluster, app_id),
  on_time => DESCRIPTOR(happened_at),
  uid => 'pods-of-application')
