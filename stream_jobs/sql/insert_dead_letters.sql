-- Records that are not facts, with reason and origin; seen_ms is the arrival, so that a replay writes the same row.
-- The topic of a source starts with the name of the source, because the home cluster has a topic of the same name.
INSERT INTO dead_letters
SELECT
  'windows', '{origin}{prefix}.facts', kafka_partition, kafka_offset, undecodable.reason, undecodable.payload,
  EXTRACT(EPOCH FROM arrived_at) * 1000 + EXTRACT(MILLISECOND FROM arrived_at)
FROM facts
WHERE undecodable IS NOT NULL
