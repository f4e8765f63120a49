-- Refused section: remarks of one code about one capture in one row, with the first line.
SELECT
    severity,
    code,
    path,
    count(*) AS remarks,
    arg_min(subject, coalesce(capture_line, 0)) AS subject,
    arg_min(message, coalesce(capture_line, 0)) AS message,
    any_value(capture_sha256) AS capture_sha256,
    min(capture_line) AS capture_line
FROM source_errors
GROUP BY severity, code, path, capture_id
ORDER BY CASE severity WHEN 'error' THEN 1 WHEN 'warning' THEN 2 ELSE 3 END, path, code, capture_id
