-- Captures section: what was read, from where, and what became of it.
SELECT
    path,
    kind,
    source,
    is_simulated,
    claim_status,
    status,
    status_reason,
    captured_at,
    total_count,
    counted,
    row_count,
    refused_count,
    capture_sha256
FROM captures
ORDER BY path, capture_id
