-- Which disks fill up?
--
-- Volumes that are nearly full, or will be within a week if they go on as yesterday.
-- Another day: sed "s/today()/toDate('2026-11-21')/g" asks on that day, so of the day before.
SELECT
    any(hosts.name) AS machine,
    host,
    volume,
    round(any(now_full), 1) AS percent_full,
    round(any(a_day), 2) AS percent_a_day,
    round(if(any(a_day) > 0, (100 - any(now_full)) / any(a_day), -1), 1) AS days_left
FROM
(
    SELECT
        host,
        name AS volume,
        100 * argMax(value, cont) AS now_full,
        100 * (argMax(value, cont) - argMin(value, cont)) / (max(cont) - min(cont)) * 86400e9 AS a_day
    FROM samples
    WHERE metric = 'filesys.full' AND reason = ''
      AND time >= toDateTime(today() - 1) AND time < toDateTime(today())
    GROUP BY host, boot, volume
    HAVING max(cont) > min(cont) AND (now_full >= 90 OR a_day > 0 AND now_full + 7 * a_day >= 100)
) AS volumes
ANY LEFT JOIN (SELECT host, name FROM hosts) AS hosts USING (host)
GROUP BY host, volume
ORDER BY percent_full DESC, host, volume
LIMIT 100
