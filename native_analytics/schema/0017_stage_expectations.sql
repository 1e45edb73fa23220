-- What the detect job knows about each stage attempt; the latest record of each replaces the earlier one.
{table:stage_expectations}, non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 268435456;
