-- Contract section: contradictions, both sides named.
SELECT product, driver_version, bound, reason_code, one, other
FROM profile_contradictions
ORDER BY product, driver_version, bound, reason_code
