-- Contract section: one profile per product and exact driver.
SELECT
    profiles.*,
    decided.capture_sha256,
    NULL::INTEGER AS capture_line
FROM contract_profiles AS profiles
LEFT JOIN (
    SELECT decision_id, arg_min(capture_sha256, capture_id) AS capture_sha256 FROM decisions WHERE is_in_force GROUP BY decision_id
) AS decided USING (decision_id)
ORDER BY profiles.product, profiles.driver_version
