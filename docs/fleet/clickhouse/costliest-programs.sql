-- Which programs cost the fleet most?
--
-- Processor time of yesterday, over all machines, and where it is worst. A process that
-- began yesterday is counted from nothing, however short it lived: of most there is one
-- row. One that was there before is counted from its last reading before the day, or the
-- first one that there is. A process goes by its last name.
-- Another day: sed "s/today()/toDate('2026-11-21')/g" asks on that day, so of the day before.
SELECT
    name AS program,
    uniqExact(host) AS machines,
    sum(processes) AS processes,
    round(sum(gained) / 3600, 2) AS core_hours,
    round(max(gained) / 3600, 2) AS worst_core_hours,
    argMax(host, gained) AS worst_host
FROM
(
    SELECT host, name, count() AS processes, sum(life) AS gained
    FROM
    (
        SELECT
            host, boot, instance,
            argMax(program, wall) AS name,
            if(max(born) > 0, max(born) >= any(begin), min(wall) > greatest(any(begin), any(first))) AS new,
            (max(cpu) - if(new, 0, if(min(wall) <= any(begin), maxIf(cpu, wall <= begin), min(cpu)))) / 1e9 AS life
        FROM
        (
            SELECT host, boot, instance, name AS program, wall, began AS born, toInt64(proc_psinfo_utime + proc_psinfo_stime) AS cpu
            FROM processes
            WHERE time >= toDateTime(today() - 1) - 3600 AND time < toDateTime(today()) AND class = 'process'
        ) AS readings
        GLOBAL ANY INNER JOIN
        (
            SELECT host, boot, first, begin
            FROM
            (
                -- When processes were first read in each boot.
                SELECT host, boot, min(wall) AS first
                FROM ticks
                WHERE time >= toDateTime(today() - 1) - 3600 AND time < toDateTime(today()) AND class = 'process'
                GROUP BY host, boot
            ) AS boots
            ANY INNER JOIN
            (
                -- When the day begins: with the last reading before it, or the recording.
                SELECT
                    host,
                    countIf(class = 'process' AND wall <= toInt64(toDateTime(today() - 1)) * 1000000000) AS before,
                    if(before > 0, maxIf(wall, class = 'process' AND wall <= toInt64(toDateTime(today() - 1)) * 1000000000), min(wall)) AS begin
                FROM ticks
                WHERE time >= toDateTime(today() - 1) - 3600 AND time < toDateTime(today())
                GROUP BY host
            ) AS beginnings USING (host)
        ) AS windows USING (host, boot)
        GROUP BY host, boot, instance
        HAVING max(wall) >= toInt64(toDateTime(today() - 1)) * 1000000000
    ) AS lives
    GROUP BY host, name
) AS programs
GROUP BY name
ORDER BY core_hours DESC, program
LIMIT 20
