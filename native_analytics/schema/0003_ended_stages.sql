-- One row for each stage attempt that ended: what totals and history are made from, never the live rows.
-- The columns are those of the view stage_live, so that a rule reads history as it reads live rows.
CREATE TABLE IF NOT EXISTS ended_stages (
{columns:ended_stages}
) ENGINE = ReplacingMergeTree(row_seq)
ORDER BY (app_id, app_start_ms, app_attempt, stage_id, stage_attempt)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS non_replicated_deduplication_window = 10000;
