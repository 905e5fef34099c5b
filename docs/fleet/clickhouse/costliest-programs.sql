-- Which programs cost the fleet most?
--
-- Processor time of yesterday, over all machines, and where it is worst.
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
        SELECT host, name, boot, instance, (max(proc_psinfo_utime + proc_psinfo_stime) - min(proc_psinfo_utime + proc_psinfo_stime)) / 1e9 AS life
        FROM processes
        WHERE time >= toDateTime(today() - 1) AND time < toDateTime(today()) AND class = 'process'
        GROUP BY host, name, boot, instance
    ) AS lives
    GROUP BY host, name
) AS programs
GROUP BY name
ORDER BY core_hours DESC, program
LIMIT 20
