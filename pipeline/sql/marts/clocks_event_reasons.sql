-- One row per reading with a mask and per bit of the mask: the bits by name. The mask holds more than the columns of
-- its own name do: logs have shown the power cap in the mask while no queried column said so.
--   reason: Name of the bit, as nvidia-smi names the reason.
--   bit: Value of the bit; for `unnamed` all bits above 0x100, for which nvidia-smi has no name yet.
--   is_active: Whether the bit is set.
--   is_supported: Whether the GPU can report the reason; NULL when the supported mask was not captured.
SELECT
    readings.capture_id,
    readings.capture_sha256,
    readings.capture_line,
    readings.sweep,
    readings.gpu_uuid,
    readings.gpu_index,
    bits.reason,
    bits.bit,
    (readings.clocks_event_reasons & bits.bit) <> 0 AS is_active,
    (readings.clocks_event_reasons_supported & bits.bit) <> 0 AS is_supported
FROM stg_gpu_readings AS readings
CROSS JOIN (
    VALUES
        ('gpu_idle', 1::UBIGINT),
        ('applications_clocks_setting', 2::UBIGINT),
        ('sw_power_cap', 4::UBIGINT),
        ('hw_slowdown', 8::UBIGINT),
        ('sync_boost', 16::UBIGINT),
        ('sw_thermal_slowdown', 32::UBIGINT),
        ('hw_thermal_slowdown', 64::UBIGINT),
        ('hw_power_brake_slowdown', 128::UBIGINT),
        ('display_clock_setting', 256::UBIGINT),
        ('unnamed', 18446744073709551104::UBIGINT)
) AS bits (reason, bit)
WHERE readings.clocks_event_reasons IS NOT NULL
