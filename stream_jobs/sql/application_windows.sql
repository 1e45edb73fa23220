-- One window of one application: the sequence numbers that arrived; for each executor the last sample and the sample
-- with the longest GC pause; and the last health fact of each collector.
SELECT
  cluster, tenant, app_id, app_attempt, app_start_ms, kafka_partition, window_time AS happened_at,
  sequence_numbers(collector, lane, seq) AS lanes,
  latest_fact(executor_id, event_time_ms, sample) AS samples,
  latest_fact(executor_id, pause_ms, pause) AS pauses,
  latest_fact(collector, event_time_ms, health) AS health
FROM TABLE(TUMBLE(TABLE application_facts, DESCRIPTOR(arrived_at), INTERVAL '{window_seconds}' SECOND(3)))
GROUP BY cluster, tenant, app_id, app_attempt, app_start_ms, kafka_partition, window_start, window_end, window_time
