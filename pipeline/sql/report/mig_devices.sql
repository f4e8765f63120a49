-- MIG section: the MIG devices that listings show.
SELECT
    device_id,
    parent_device_id,
    mig_profile,
    gpu_instance_slices,
    compute_instance_slices,
    memory_gb,
    gpu_instance_id,
    compute_instance_id,
    is_stale,
    source,
    is_simulated,
    capture_sha256,
    capture_line
FROM devices
WHERE device_kind = 'mig'
ORDER BY parent_device_id, capture_sha256, capture_line, device_id
