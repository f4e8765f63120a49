-- One row per GPU and sweep of a --query-gpu capture. VBIOS versions are compared in upper case: the same card prints
-- 7A on Linux and 7a on Windows.
SELECT * REPLACE (upper(vbios_version) AS vbios_version) FROM evidence.gpu_readings
