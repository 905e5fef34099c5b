-- Which batteries are worn?
--
-- Those that hold less than four fifths of what they were made for, or have been through
-- a thousand cycles, as they were yesterday.
-- Another day: sed "s/today()/toDate('2026-11-21')/g" asks on that day, so of the day before.
SELECT
    any(hosts.name) AS machine,
    host,
    any(health) AS percent_health,
    any(cycles) AS cycles
FROM
(
    SELECT
        host,
        round(100 * argMaxIf(value, time, metric = 'power.battery.health'), 1) AS health,
        argMaxIf(value, time, metric = 'power.battery.cycle_count') AS cycles
    FROM samples
    WHERE metric IN ('power.battery.health', 'power.battery.cycle_count') AND reason = ''
      AND time >= toDateTime(today() - 1) AND time < toDateTime(today())
    GROUP BY host
    HAVING health < 80 AND health > 0 OR cycles >= 1000
) AS worn
ANY LEFT JOIN (SELECT host, name FROM hosts) AS hosts USING (host)
GROUP BY host
ORDER BY percent_health, host
LIMIT 1000
