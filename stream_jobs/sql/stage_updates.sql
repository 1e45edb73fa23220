-- The state of each stage attempt that changed in a window, with its running tasks, as an encoded StageUpdate.
SELECT cluster, tenant, app_id, app_attempt, app_start_ms, rowtime AS happened_at, stage_update
FROM stage_fold(
  input => TABLE stage_windows
    PARTITION BY (cluster, tenant, app_id, app_attempt, app_start_ms, stage_id, stage_attempt),
  on_time => DESCRIPTOR(happened_at),
  uid => 'stage-fold')
