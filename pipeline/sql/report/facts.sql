-- Facts section: one row per GPU and fact.
SELECT device_id, fact, value, reason_code, source, is_simulated, capture_sha256, capture_line
FROM device_facts
ORDER BY device_id, fact
