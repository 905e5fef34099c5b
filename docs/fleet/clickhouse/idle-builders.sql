-- Which build machine was idle?
--
-- Hours of yesterday in which a machine called build... used less than a twentieth of its
-- processors.
-- Another day: sed "s/today()/toDate('2026-11-21')/g" asks on that day, so of the day before.
SELECT
    any(hosts.name) AS machine,
    host,
    countIf(busy < 0.05) AS idle_hours,
    count() AS hours,
    round(100 * avg(busy), 1) AS percent_busy
FROM
(
    SELECT host, hour, 1 - sumIf(gained, metric = 'kernel.all.cpu.idle') / sum(gained) AS busy
    FROM
    (
        SELECT host, boot, toStartOfHour(time) AS hour, metric, toFloat64(max(u) - min(u)) AS gained
        FROM samples
        WHERE metric IN ('kernel.all.cpu.user', 'kernel.all.cpu.sys', 'kernel.all.cpu.nice', 'kernel.all.cpu.idle') AND reason = ''
          AND time >= toDateTime(today() - 1) AND time < toDateTime(today())
          AND host GLOBAL IN (SELECT host FROM archives WHERE name LIKE 'build%')
        GROUP BY host, boot, hour, metric
    ) AS gains
    GROUP BY host, hour
    HAVING sum(gained) > 0
) AS hourly
ANY LEFT JOIN (SELECT host, name FROM hosts) AS hosts USING (host)
GROUP BY host
ORDER BY idle_hours DESC, host
LIMIT 50
