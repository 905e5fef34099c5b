-- Which machines were slowest yesterday?
--
-- Minutes of yesterday in which people waited: twice as many programs wanted a processor
-- as there are, or the kernel told of memory pressure (macOS: warning or worse; Linux:
-- some program waited for memory a fifth of the time).
-- Another day: sed "s/today()/toDate('2026-11-21')/g" asks on that day, so of the day before.
SELECT
    any(hosts.name) AS machine,
    host,
    uniqExactIf(minute, metric = 'kernel.all.load') AS busy_minutes,
    uniqExactIf(minute, metric != 'kernel.all.load') AS short_of_memory_minutes,
    uniqExact(minute) AS slow_minutes
FROM
(
    SELECT host, metric, toStartOfMinute(time) AS minute
    FROM samples FINAL
    GLOBAL ANY LEFT JOIN
    (
        SELECT host, max(value) AS cpus FROM samples
        WHERE metric = 'hinv.ncpu' AND time >= toDateTime(today() - 8) GROUP BY host
    ) AS size USING (host)
    WHERE time >= toDateTime(today() - 1) AND time < toDateTime(today())
      AND (metric = 'kernel.all.load' AND name = '1 minute' AND value > 2 * cpus
        OR metric = 'kern.memorystatus_vm_pressure_level' AND value >= 2
        OR metric = 'kernel.all.pressure.memory.some.avg' AND name = '10 second' AND value >= 0.2)
    GROUP BY host, metric, minute
) AS slow
ANY LEFT JOIN (SELECT host, name FROM hosts) AS hosts USING (host)
GROUP BY host
ORDER BY slow_minutes DESC, host
LIMIT 20
