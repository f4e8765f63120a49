-- Devices section: GPUs.
SELECT
    device_id,
    model,
    product,
    driver_version,
    vbios_version,
    pci_bus_id,
    observed_at,
    source,
    is_simulated,
    capture_sha256,
    capture_line
FROM devices
WHERE device_kind = 'gpu'
ORDER BY device_id
