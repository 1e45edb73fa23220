-- Ended runs and failures, by the day on which the runs started; the store keeps these sums for years.
SELECT toDateTime(day, 'UTC') AS time, sum(runs) AS ended, sum(failed_runs) AS failed
FROM job_days FINAL
WHERE day BETWEEN toDate(fromUnixTimestamp64Milli(${__from})) AND toDate(fromUnixTimestamp64Milli(${__to}))
GROUP BY day
ORDER BY day
