-- One row per remark about a capture: what was refused, what is odd, what is new.
--   path: Where the capture was found.
SELECT
    errors.*,
    captures.path
FROM stg_source_errors AS errors
LEFT JOIN stg_captures AS captures USING (capture_id)
