-- Applications to select: the first column is the value, the second the label.
SELECT app_id, concat(app_id, ' ', any(coalesce(application_name, '')))
FROM live
WHERE view = 'app_live' AND window_end_ms BETWEEN ${__from} AND ${__to}
GROUP BY app_id
ORDER BY max(app_start_ms) DESC
LIMIT 500
