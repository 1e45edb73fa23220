-- The windows of each application, those in which nothing came of it too: that a window passed without a word is said
-- by the ticks of the partition that its facts come from, so no time passes while broker or job are away.
SELECT
  cluster, tenant, app_id, app_attempt, app_start_ms, rowtime AS happened_at, quiet, lanes, samples, pauses, health
FROM application_clock_of(
  input => TABLE application_clock_inputs PARTITION BY kafka_partition,
  window_ms => CAST({window_ms} AS BIGINT),
  on_time => DESCRIPTOR(happened_at),
  uid => 'application-clock')
