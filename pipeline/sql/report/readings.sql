-- Readings section: the range of each quantity per capture and GPU, with the lines of the least and greatest.
SELECT
    captures.path,
    coalesce(readings.gpu_uuid, readings.pci_bus_id, 'GPU ' || readings.gpu_index) AS gpu,
    count(*) AS rows,
    min(readings.sm_clock_mhz) AS sm_clock_min_mhz,
    max(readings.sm_clock_mhz) AS sm_clock_max_mhz,
    why_absent(arg_min(readings.absent, readings.capture_line), 'sm_clock_mhz') AS why_sm_clock,
    min(readings.power_draw_w) AS power_draw_min_w,
    max(readings.power_draw_w) AS power_draw_max_w,
    why_absent(arg_min(readings.absent, readings.capture_line), 'power_draw_w') AS why_power_draw,
    min(readings.core_temp_c) AS core_temp_min_c,
    max(readings.core_temp_c) AS core_temp_max_c,
    why_absent(arg_min(readings.absent, readings.capture_line), 'core_temp_c') AS why_core_temp,
    any_value(captures.source) AS source,
    any_true(captures.is_simulated) AS is_simulated,
    any_value(captures.capture_sha256) AS capture_sha256,
    min(readings.capture_line) AS first_line,
    max(readings.capture_line) AS last_line
FROM stg_gpu_readings AS readings
INNER JOIN captures USING (capture_id)
GROUP BY captures.path, captures.capture_id, gpu
ORDER BY captures.path, captures.capture_id, gpu NULLS LAST
