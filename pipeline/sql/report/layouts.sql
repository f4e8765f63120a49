-- MIG section: layouts of each parent, as each capture shows them.
SELECT
    parent_device_id,
    config_generation,
    why_generation,
    child_count,
    observed_at,
    is_current,
    is_partial_view,
    source,
    is_simulated,
    capture_sha256,
    capture_line
FROM mig_layouts
ORDER BY parent_device_id, observed_at NULLS LAST, capture_sha256
