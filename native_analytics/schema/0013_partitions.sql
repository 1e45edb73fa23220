-- Tables with one partition for each day or month of arrival: expired rows are dropped as whole parts, and queries over a
-- time read few parts. A partition key, a sorting key and their indexes cannot be changed, so the tables are copied.
-- An exchange is atomic, so an interrupted migration can be repeated: after it, the other name is that of the old table.
DROP TABLE IF EXISTS facts_partitioned;
ALTER TABLE facts {missing:facts};
{table:facts AS facts_partitioned}, non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 268435456;
INSERT INTO facts_partitioned ({names:facts}) SELECT {names:facts} FROM facts SETTINGS max_partitions_per_insert_block = 0;
EXCHANGE TABLES facts AND facts_partitioned;
DROP TABLE facts_partitioned;
DROP TABLE IF EXISTS live_partitioned;
ALTER TABLE live {missing:live};
{table:live AS live_partitioned}, non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 268435456;
INSERT INTO live_partitioned ({names:live}) SELECT {names:live} FROM live SETTINGS max_partitions_per_insert_block = 0;
EXCHANGE TABLES live AND live_partitioned;
DROP TABLE live_partitioned;
DROP TABLE IF EXISTS history_partitioned;
ALTER TABLE history {missing:history};
{table:history AS history_partitioned}, non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 268435456;
INSERT INTO history_partitioned ({names:history}) SELECT {names:history} FROM history SETTINGS max_partitions_per_insert_block = 0;
EXCHANGE TABLES history AND history_partitioned;
DROP TABLE history_partitioned;
DROP TABLE IF EXISTS names_partitioned;
ALTER TABLE names {missing:names};
{table:names AS names_partitioned}, non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 268435456;
INSERT INTO names_partitioned ({names:names}) SELECT {names:names} FROM names SETTINGS max_partitions_per_insert_block = 0;
EXCHANGE TABLES names AND names_partitioned;
DROP TABLE names_partitioned;
-- A page shows findings of many times, and reads a granule for each.
DROP TABLE IF EXISTS findings_partitioned;
ALTER TABLE findings {missing:findings};
{table:findings AS findings_partitioned}, non_replicated_deduplication_window = 1000, index_granularity = 128;
INSERT INTO findings_partitioned ({names:findings}) SELECT {names:findings} FROM findings SETTINGS max_partitions_per_insert_block = 0;
EXCHANGE TABLES findings AND findings_partitioned;
DROP TABLE findings_partitioned;
DROP TABLE IF EXISTS audit_partitioned;
ALTER TABLE audit {missing:audit};
{table:audit AS audit_partitioned}, non_replicated_deduplication_window = 1000;
INSERT INTO audit_partitioned ({names:audit}) SELECT {names:audit} FROM audit SETTINGS max_partitions_per_insert_block = 0;
EXCHANGE TABLES audit AND audit_partitioned;
DROP TABLE audit_partitioned;
DROP TABLE IF EXISTS receipts_partitioned;
ALTER TABLE receipts {missing:receipts};
{table:receipts AS receipts_partitioned}, non_replicated_deduplication_window = 1000;
INSERT INTO receipts_partitioned ({names:receipts}) SELECT {names:receipts} FROM receipts SETTINGS max_partitions_per_insert_block = 0;
EXCHANGE TABLES receipts AND receipts_partitioned;
DROP TABLE receipts_partitioned;
DROP TABLE IF EXISTS dead_letters_partitioned;
ALTER TABLE dead_letters {missing:dead_letters};
{table:dead_letters AS dead_letters_partitioned}, non_replicated_deduplication_window = 1000;
INSERT INTO dead_letters_partitioned ({names:dead_letters}) SELECT {names:dead_letters} FROM dead_letters SETTINGS max_partitions_per_insert_block = 0;
EXCHANGE TABLES dead_letters AND dead_letters_partitioned;
DROP TABLE dead_letters_partitioned;
DROP TABLE IF EXISTS ended_stages_partitioned;
ALTER TABLE ended_stages {missing:ended_stages};
CREATE TABLE ended_stages_partitioned (
{columns:ended_stages},
  INDEX by_app_id app_id TYPE bloom_filter(0.001) GRANULARITY 1
) ENGINE = ReplacingMergeTree(row_seq)
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (app_id, app_start_ms, app_attempt, stage_id, stage_attempt, ifNull(row_epoch_ms, 0),
          ifNull(cluster, 'default'), ifNull(tenant, 'default'))
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1, index_granularity = 1024, non_replicated_deduplication_window = 10000,
         min_bytes_for_wide_part = 268435456;
INSERT INTO ended_stages_partitioned ({names:ended_stages}) SELECT {names:ended_stages} FROM ended_stages SETTINGS max_partitions_per_insert_block = 0;
EXCHANGE TABLES ended_stages AND ended_stages_partitioned;
DROP TABLE ended_stages_partitioned;
DROP TABLE IF EXISTS logged_stages_partitioned;
ALTER TABLE logged_stages {missing:logged_stages};
CREATE TABLE logged_stages_partitioned (
{columns:logged_stages},
  INDEX by_app_id app_id TYPE bloom_filter(0.001) GRANULARITY 1
) ENGINE = ReplacingMergeTree()
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (app_id, app_start_ms, app_attempt, stage_id, stage_attempt)
TTL toDateTime(inserted_at) + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1, index_granularity = 1024, non_replicated_deduplication_window = 10000,
         min_bytes_for_wide_part = 268435456;
INSERT INTO logged_stages_partitioned ({names:logged_stages}) SELECT {names:logged_stages} FROM logged_stages SETTINGS max_partitions_per_insert_block = 0;
EXCHANGE TABLES logged_stages AND logged_stages_partitioned;
DROP TABLE logged_stages_partitioned;
