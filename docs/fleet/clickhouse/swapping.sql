-- Who swaps?
--
-- Pages written to swap yesterday; a boot's counter only grows.
-- Another day: sed "s/today()/toDate('2026-11-21')/g" asks on that day, so of the day before.
SELECT any(hosts.name) AS machine, host, sum(pages) AS pages_written, round(sum(pages) / sum(seconds), 1) AS pages_a_second
FROM
(
    SELECT host, boot, max(u) - min(u) AS pages, (max(cont) - min(cont)) / 1e9 AS seconds
    FROM samples
    WHERE metric = 'swap.pagesout' AND reason = ''
      AND time >= toDateTime(today() - 1) AND time < toDateTime(today())
    GROUP BY host, boot
    HAVING pages > 0
) AS swapped
ANY LEFT JOIN (SELECT host, name FROM hosts) AS hosts USING (host)
GROUP BY host
ORDER BY pages_written DESC, host
LIMIT 20
