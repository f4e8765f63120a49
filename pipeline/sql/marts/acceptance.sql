-- One row per subject and requirement. The first requirement is that the evidence itself is whole; claims must hold.
-- Unknown is never a pass: what cannot be judged is indeterminate.
--   subject: What is judged: the path of a capture.
--   requirement: evidence_is_whole or claim_is_verified.
--   verdict: pass, fail or indeterminate.
--   reason_code: Why.
--   detail: The same in words.
--   capture_line: Line of the capture that shows it; NULL: the whole capture.
--   evidence: The same as SHA or SHA:LINE, as `gpu-evidence show` takes it.
WITH
worst AS (
    SELECT
        capture_id,
        count(*) FILTER (severity = 'error') AS errors,
        count(*) FILTER (severity = 'warning') AS warnings,
        arg_min(code, capture_line) FILTER (severity = 'error') AS error_code,
        min(code) FILTER (severity = 'error') AS any_error_code,
        min(capture_line) FILTER (severity = 'error') AS error_line,
        min(code) FILTER (severity = 'warning') AS warning_code,
        min(capture_line) FILTER (severity = 'warning') AS warning_line
    FROM source_errors
    GROUP BY capture_id
),
whole AS (
    SELECT
        captures.path AS subject,
        'evidence_is_whole' AS requirement,
        CASE
            WHEN captures.status = 'quarantined' OR worst.errors > 0 THEN 'fail'
            WHEN worst.warnings > 0 OR captures.is_accounted_for IS NOT true THEN 'indeterminate'
            ELSE 'pass'
        END AS verdict,
        CASE
            WHEN captures.status = 'quarantined' THEN 'QUARANTINED'
            WHEN worst.errors > 0 THEN 'EVIDENCE_REFUSED'
            WHEN worst.warnings > 0 THEN 'EVIDENCE_DOUBTFUL'
            WHEN captures.is_accounted_for IS NOT true THEN 'NOT_ACCOUNTED_FOR'
            ELSE 'EVIDENCE_WHOLE'
        END AS reason_code,
        CASE
            WHEN captures.status = 'quarantined' THEN 'nothing usable: ' || coalesce(captures.status_reason, 'no reason recorded')
            WHEN worst.errors > 0 THEN worst.errors || ' refused, first: ' || coalesce(worst.error_code, worst.any_error_code)
            WHEN worst.warnings > 0 THEN worst.warnings || ' in doubt: ' || worst.warning_code
            ELSE 'all ' || captures.total_count || ' ' || captures.counted || ' accounted for'
        END AS detail,
        captures.capture_id,
        captures.capture_sha256,
        coalesce(worst.error_line, worst.warning_line) AS capture_line
    FROM captures
    LEFT JOIN worst USING (capture_id)
),
claims AS (
    SELECT
        path AS subject,
        'claim_is_verified' AS requirement,
        CASE claim_status WHEN 'claim_verified' THEN 'pass' ELSE 'indeterminate' END AS verdict,
        upper(claim_status) AS reason_code,
        CASE claim_status
            WHEN 'claim_verified' THEN 'the bytes hash to the claimed ' || left(claimed_sha256, 12)
            ELSE 'claimed ' || left(claimed_sha256, 12) || ', the bytes hash to ' || coalesce(left(capture_sha256, 12), 'nothing')
        END AS detail,
        capture_id,
        capture_sha256,
        NULL::INTEGER AS capture_line
    FROM captures
    WHERE claim_status IS NOT NULL
)
SELECT *, capture_sha256 || coalesce(':' || capture_line, '') AS evidence FROM whole
UNION ALL BY NAME
SELECT *, capture_sha256 AS evidence FROM claims
