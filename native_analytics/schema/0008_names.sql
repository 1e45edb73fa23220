-- Display names of queries and stages; the latest name of each replaces the earlier one.
{table:names};
ALTER TABLE names MODIFY SETTING non_replicated_deduplication_window = 10000;
-- The view best_stages lists its columns, so it is made again with those that a stage has gained.
ALTER TABLE ended_stages {missing:ended_stages};
ALTER TABLE logged_stages {missing:logged_stages};
DROP VIEW IF EXISTS best_stages;
CREATE VIEW IF NOT EXISTS best_stages AS
SELECT * FROM (
    SELECT {names:ended_stages}, 1 AS seen_live FROM ended_stages FINAL
    UNION ALL
    SELECT {names:ended_stages}, 0 AS seen_live FROM logged_stages FINAL
)
ORDER BY ifNull(completeness, 0) DESC, seen_live DESC
LIMIT 1 BY app_id, app_start_ms, app_attempt, stage_id, stage_attempt;
