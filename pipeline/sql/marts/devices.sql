-- One row per device: GPUs, and the MIG devices that listings show of them.
--   device_id: UUID; without one, or masked, a name that holds within its capture.
--   parent_device_id: The GPU of a MIG device.
--   device_kind: gpu or mig.
--   product: Product id of the reported name (reference/products.csv); NULL when the name is not listed.
--   is_stale: For a MIG device: false when the parent's current layout lists it, true when a newer view of the host does
--     not; NULL when neither is known.
--   observed_at: Newest time it was seen.
--   source: Classes of the sources that show it.
--   is_simulated: Whether any evidence of it is simulated; NULL when not known.
--   capture_id: Newest capture that shows it.
WITH
gpus AS (
    SELECT
        device_id,
        max(observed_at) AS observed_at,
        string_agg(DISTINCT source, ', ' ORDER BY source) AS source,
        any_true(is_simulated) AS is_simulated
    FROM device_sightings
    GROUP BY device_id
),
facts AS (
    SELECT
        device_id,
        min(value) FILTER (fact = 'model') AS model,
        min(value) FILTER (fact = 'pci_bus_id') AS pci_bus_id,
        min(value) FILTER (fact = 'driver_version') AS driver_version,
        min(value) FILTER (fact = 'firmware') AS vbios_version
    FROM device_facts
    GROUP BY device_id
),
shown AS (
    SELECT device_id, capture_id, capture_sha256, capture_line
    FROM device_sightings
    QUALIFY row_number() OVER (
        PARTITION BY device_id ORDER BY observed_at DESC NULLS LAST, capture_id, capture_line
    ) = 1
),
children AS (
    SELECT
        gpu_device_id(listed.parent_gpu_uuid, captures.is_masked, NULL, listed.gpu_index, listed.capture_id)
            AS parent_device_id,
        CASE
            WHEN coalesce(captures.is_masked, false) OR is_masked_uuid(listed.mig_uuid)
                THEN 'GPU ' || listed.gpu_index || '/MIG ' || listed.device_number || '@' || left(listed.capture_id, 12)
            ELSE listed.mig_uuid
        END AS device_id,
        listed.*,
        captures.captured_at AS observed_at,
        captures.source,
        captures.is_simulated
    FROM stg_mig_devices AS listed
    INNER JOIN stg_captures AS captures USING (capture_id)
),
newest_children AS (
    SELECT *
    FROM children
    QUALIFY row_number() OVER (
        PARTITION BY device_id ORDER BY observed_at DESC NULLS LAST, capture_id, capture_line
    ) = 1
),
shown_children AS (
    SELECT
        device_id,
        string_agg(DISTINCT source, ', ' ORDER BY source) AS source,
        any_true(is_simulated) AS is_simulated
    FROM children
    GROUP BY device_id
),
present_children AS (
    SELECT DISTINCT children.device_id
    FROM mig_layouts AS layouts
    INNER JOIN children
        ON layouts.parent_device_id = children.parent_device_id AND layouts.capture_id = children.capture_id
    WHERE layouts.is_current
),
parents AS (
    -- Where no layout is the current one although the order is known, the newest view is a host's, of no MIG devices.
    SELECT
        parent_device_id,
        max(parent_newest_at) AS newest_at,
        CASE WHEN bool_or(is_current) THEN bool_or(is_current AND viewer = 'host') ELSE true END AS is_host_view
    FROM mig_layouts
    GROUP BY parent_device_id
)
SELECT
    gpus.device_id,
    NULL::VARCHAR AS parent_device_id,
    'gpu' AS device_kind,
    facts.model,
    products.product,
    facts.pci_bus_id,
    facts.driver_version,
    facts.vbios_version,
    NULL::VARCHAR AS mig_profile,
    NULL::INTEGER AS gpu_instance_slices,
    NULL::INTEGER AS compute_instance_slices,
    NULL::DOUBLE AS memory_gb,
    NULL::INTEGER AS gpu_instance_id,
    NULL::INTEGER AS compute_instance_id,
    NULL::VARCHAR AS config_generation,
    NULL::BOOLEAN AS is_stale,
    gpus.observed_at,
    gpus.source,
    gpus.is_simulated,
    shown.capture_id,
    shown.capture_sha256,
    shown.capture_line
FROM gpus
LEFT JOIN facts USING (device_id)
LEFT JOIN shown USING (device_id)
LEFT JOIN ref_products AS products ON facts.model = products.model
UNION ALL BY NAME
SELECT
    child.device_id,
    child.parent_device_id,
    'mig' AS device_kind,
    facts.model,
    products.product,
    facts.pci_bus_id,
    facts.driver_version,
    facts.vbios_version,
    child.mig_profile,
    child.gpu_instance_slices,
    child.compute_instance_slices,
    child.memory_gb,
    child.gpu_instance_id,
    child.compute_instance_id,
    child.config_generation,
    CASE
        WHEN present.device_id IS NOT NULL THEN false
        WHEN parents.is_host_view AND child.observed_at < parents.newest_at THEN true
    END AS is_stale,
    child.observed_at,
    shown_children.source,
    shown_children.is_simulated,
    child.capture_id,
    child.capture_sha256,
    child.capture_line
FROM newest_children AS child
LEFT JOIN facts ON child.parent_device_id = facts.device_id
LEFT JOIN ref_products AS products ON facts.model = products.model
LEFT JOIN shown_children ON child.device_id = shown_children.device_id
LEFT JOIN present_children AS present ON child.device_id = present.device_id
LEFT JOIN parents ON child.parent_device_id = parents.parent_device_id
