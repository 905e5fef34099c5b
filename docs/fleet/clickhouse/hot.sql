-- Who runs hot?
--
-- The processor's temperature yesterday, and how long the machine held itself back.
-- Another day: sed "s/today()/toDate('2026-11-21')/g" asks on that day, so of the day before.
SELECT
    any(hosts.name) AS machine,
    host,
    round(any(mean), 1) AS mean_celsius,
    any(highest) AS highest_celsius,
    round(100 * any(hot_readings) / any(readings), 1) AS percent_above_95,
    any(throttled) AS throttled_minutes
FROM
(
    SELECT
        host,
        avgIf(value, metric = 'thermal.cpu.die') AS mean,
        maxIf(value, metric = 'thermal.cpu.die') AS highest,
        countIf(metric = 'thermal.cpu.die') AS readings,
        countIf(metric = 'thermal.cpu.die' AND value >= 95) AS hot_readings,
        uniqExactIf(toStartOfMinute(time), metric = 'thermal.pressure.level' AND value >= 1) AS throttled
    FROM samples FINAL
    WHERE time >= toDateTime(today() - 1) AND time < toDateTime(today())
      AND metric IN ('thermal.cpu.die', 'thermal.pressure.level') AND reason = ''
    GROUP BY host
) AS heat
ANY LEFT JOIN (SELECT host, name FROM hosts) AS hosts USING (host)
GROUP BY host
ORDER BY mean_celsius DESC, host
LIMIT 20
