-- A batch that is sent again under its token (topic, partition, first and last offset) is stored once.
-- Replicated tables do this by themselves; others must be told how many tokens to remember.
ALTER TABLE facts MODIFY SETTING non_replicated_deduplication_window = 10000;
ALTER TABLE live MODIFY SETTING non_replicated_deduplication_window = 10000;
ALTER TABLE findings MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE baselines MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE actions MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE dead_letters MODIFY SETTING non_replicated_deduplication_window = 1000;
