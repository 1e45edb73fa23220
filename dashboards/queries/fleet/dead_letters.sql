-- Dead letters by component and reason; each one needs a check.
SELECT
  component,
  topic,
  reason,
  count() AS records,
  fromUnixTimestamp64Milli(max(seen_ms)) AS latest
FROM dead_letters FINAL
WHERE seen_ms BETWEEN ${__from} AND ${__to}
GROUP BY component, topic, reason
ORDER BY records DESC, latest DESC
LIMIT 100
