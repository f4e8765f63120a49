-- Contract section: what each profile stands on.
SELECT product, driver_version, bound, value, unit, role, basis, derivation, observations, is_claim, sources, capture_sha256, capture_line
FROM profile_bounds
ORDER BY
    product,
    driver_version,
    CASE role WHEN 'activation' THEN 1 WHEN 'admission' THEN 2 WHEN 'range' THEN 3 ELSE 4 END,
    bound,
    CASE basis WHEN 'pinned' THEN 1 WHEN 'read' THEN 2 ELSE 3 END,
    value
