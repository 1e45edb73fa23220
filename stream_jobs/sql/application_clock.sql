-- The windows of each application, including quiet ones, in which none of its facts arrived.
-- Quiet windows follow from the ticks of the application's partition, so there are none while broker or job are down.
SELECT
  cluster, tenant, app_id, app_attempt, app_start_ms, rowtime AS happened_at, quiet, lanes, samples, pauses, health
FROM application_clock_of(
  input => TABLE application_clock_inputs PARTITION BY kafka_partition,
  window_ms => CAST({window_ms} AS BIGINT),
  on_time => DESCRIPTOR(happened_at),
  uid => 'application-clock')
