-- What crashes over and over?
--
-- Programs that ended badly yesterday, at least five times on a machine and four times of
-- five: not with exit 0, nor by a signal that asks to end.
-- Another day: sed "s/today()/toDate('2026-11-21')/g" asks on that day, so of the day before.
SELECT
    program,
    uniqExact(host) AS machines,
    sum(ends) AS ended,
    sum(failures) AS failed,
    topK(3)(usual) AS how
FROM
(
    SELECT
        host,
        label_values[indexOf(label_names, 'name')] AS program,
        count() AS ends,
        countIf(end NOT IN ('', 'exit 0', 'signal 1', 'signal 2', 'signal 13', 'signal 15')) AS failures,
        any(end) AS usual
    FROM
    (
        SELECT host, label_names, label_values, label_values[indexOf(label_names, 'how')] AS end
        FROM events FINAL
        WHERE kind = 'process exit' AND time >= toDateTime(today() - 1) AND time < toDateTime(today())
    ) AS exits
    GROUP BY host, program
    HAVING program != '' AND failures >= 5 AND 5 * failures >= 4 * ends
) AS loops
GROUP BY program
ORDER BY machines DESC, failed DESC, program
LIMIT 50
