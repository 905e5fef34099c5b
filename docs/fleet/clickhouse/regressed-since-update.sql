-- Which program regressed since the update?
--
-- The processor time of each program in the seven days before and after its machine was
-- updated: where the same machine recorded under another release or version of its
-- system than before. Cores are those that one process of it kept busy; only programs seen
-- on at least three updated machines, before and after. A process that began in that time
-- is counted from its beginning: of most there is one row.
-- Updates of the last seven days. Earlier ones: sed "s/today()/toDate('2026-11-21')/g" asks on that day.
SELECT
    name AS program,
    uniqExact(host) AS machines,
    round(sumIf(gained, after = 0) / sumIf(seconds, after = 0), 4) AS cores_before,
    round(sumIf(gained, after = 1) / sumIf(seconds, after = 1), 4) AS cores_after,
    round(cores_after / cores_before, 2) AS times
FROM
(
    SELECT
        host, name, boot, instance, time >= updated AS after,
        max(born) > 0 AND max(born) >= any(if(after, toInt64(updated), begun)) * 1000000000 AS new,
        (max(cpu) - if(new, 0, min(cpu))) / 1e9 AS gained,
        (max(cont) - min(cont) + if(new, min(wall) - max(born), 0)) / 1e9 AS seconds
    FROM
    (
        SELECT host, name, boot, instance, time, cont, wall, began AS born, toInt64(proc_psinfo_utime + proc_psinfo_stime) AS cpu
        FROM processes
        WHERE time >= toDateTime(today() - 14) AND class = 'process'
    ) AS readings
    GLOBAL ANY INNER JOIN
    (
        SELECT host, max(first) AS updated, toInt64(greatest(min(first), toDateTime(today() - 14))) AS begun, count() AS systems
        FROM
        (
            SELECT host, min(began) AS first
            FROM archives
            GROUP BY host, release, label_values[indexOf(label_names, 'product')] AS version
        ) AS versions
        GROUP BY host
        HAVING systems > 1 AND updated >= toDateTime(today() - 7)
    ) AS updates USING (host)
    GROUP BY host, name, boot, instance, after
    HAVING seconds > 0
) AS lives
GROUP BY name
HAVING machines >= 3 AND cores_before > 0 AND cores_after > 0.01
ORDER BY times DESC, program
LIMIT 20
