-- Queries of event logs are rows of history, so its key has the id of the query.
ALTER TABLE history
    ADD COLUMN IF NOT EXISTS `query_query_id` Nullable(Int64),
    MODIFY ORDER BY (app_id, app_start_ms, app_attempt, row, ifNull(stage_stage_id, -1),
                     ifNull(stage_stage_attempt, -1), ifNull(query_query_id, -1));
