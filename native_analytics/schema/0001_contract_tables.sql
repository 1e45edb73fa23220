-- The tables of the contract, as contracts/generated/clickhouse has them on the day this runs.
-- Columns that the contract gains later are added by the migrator itself, because an optional field is free.
{table:facts};
{table:live};
{table:findings};
{table:baselines};
{table:actions};
{table:dead_letters};
