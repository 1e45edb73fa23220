-- Verdicts of people on findings; the last verdict of a person on a finding replaces the earlier ones.
{table:feedback};
ALTER TABLE feedback MODIFY SETTING non_replicated_deduplication_window = 1000;
