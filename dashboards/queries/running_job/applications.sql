-- Applications to select: the first column is the value, the second the label.
SELECT app_id, concat(app_id, ' ', any(coalesce(application_name, '')))
FROM application_rows
WHERE row = 'application' AND window_end_ms >= ${__from} AND app_start_ms <= ${__to}
GROUP BY app_id
ORDER BY max(app_start_ms) DESC
LIMIT 500
