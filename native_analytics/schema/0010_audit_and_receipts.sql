-- The audit log of the fuse controller and the receipts of the hooks replace the table of both.
{table:audit};
{table:receipts};
ALTER TABLE audit MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE receipts MODIFY SETTING non_replicated_deduplication_window = 1000;
DROP TABLE IF EXISTS actions;
