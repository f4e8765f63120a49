-- One row per observation, as recorded.
--   is_accounted_for: Whether every line (element) went somewhere: total is rows, header, blank, structure and refused.
SELECT
    *,
    total_count = row_count + header_count + blank_count + structure_count + refused_count AS is_accounted_for
FROM evidence.captures
