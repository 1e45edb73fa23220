-- What event logs told of runs after they ended: the row of the application and those of its stages.
{table:history};
ALTER TABLE history MODIFY SETTING non_replicated_deduplication_window = 10000;
ALTER TABLE history MODIFY SETTING min_bytes_for_wide_part = 268435456;
-- Ended stages as their logs have them, in the columns of ended_stages: a run that is sent again replaces itself.
CREATE TABLE IF NOT EXISTS logged_stages (
{columns:logged_stages}
) ENGINE = ReplacingMergeTree
ORDER BY (app_id, app_start_ms, app_attempt, stage_id, stage_attempt)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 268435456;
-- Each ended stage once: of what was seen live and what the log says, the one with the better evidence; live on a tie.
CREATE VIEW IF NOT EXISTS best_stages AS
SELECT * FROM (
    SELECT {names:ended_stages}, 1 AS seen_live FROM ended_stages FINAL
    UNION ALL
    SELECT {names:ended_stages}, 0 AS seen_live FROM logged_stages FINAL
)
ORDER BY ifNull(completeness, 0) DESC, seen_live DESC
LIMIT 1 BY app_id, app_start_ms, app_attempt, stage_id, stage_attempt;
