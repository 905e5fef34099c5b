-- Which hosts are silent?
--
-- Nothing came from them for an hour. A host that has sent nothing for a day has 1970
-- as its last reading here; told says when it was heard of before.
SELECT name AS machine, host, last, told
FROM
(
    SELECT host, argMax(name, seen) AS name, max(seen) AS told
    FROM archives
    GROUP BY host
) AS known
ANY LEFT JOIN
(
    SELECT host, max(time) AS last
    FROM ticks
    WHERE time >= now() - 86400
    GROUP BY host
) AS heard USING (host)
WHERE last < now() - 3600
ORDER BY last, host
LIMIT 1000
