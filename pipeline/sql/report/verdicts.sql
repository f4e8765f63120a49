-- Verdicts section, junit and exit codes.
SELECT subject, requirement, verdict, reason_code, detail, capture_sha256, capture_line
FROM acceptance
ORDER BY requirement, subject, capture_id, reason_code
