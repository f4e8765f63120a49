-- One row per capture and GPU seen in it. A value that differs between the rows of one capture is NULL, reason conflicting_sources.
-- Rows that name no GPU at all are no sighting: the device is unknown, not GPU 0.
--   device_id: UUID of the GPU; without one, or masked, a name that holds within its capture.
--   capture_line: First line that shows the GPU.
--   observed_at: When it was seen: the rows' UTC time, else the sidecar's captured_at.
--   mig_mode: Enabled or Disabled as printed.
--   why_model: Reason when model is NULL.
--   why_driver_version: Reason when driver_version is NULL.
--   why_vbios_version: Reason when vbios_version is NULL.
--   why_mig_mode: Reason when mig_mode is NULL.
--   why_pci_bus_id: Reason when pci_bus_id is NULL.
--   has_children: Whether the capture lists MIG devices of it.
WITH
readings AS (
    SELECT
        capture_id,
        gpu_uuid,
        pci_bus_id,
        gpu_index,
        min(capture_line) AS capture_line,
        max(observed_at) AS observed_at,
        arg_min(absent, capture_line) AS absent,
        min(absent) AS least_absent,
        max(absent) AS most_absent,
        min(model) AS model,
        count(DISTINCT model) AS models,
        min(driver_version) AS driver_version,
        count(DISTINCT driver_version) AS drivers,
        min(vbios_version) AS vbios_version,
        count(DISTINCT vbios_version) AS vbioses,
        min(mig_mode) AS mig_mode,
        count(DISTINCT mig_mode) AS modes
    FROM stg_gpu_readings
    WHERE gpu_uuid IS NOT NULL OR pci_bus_id IS NOT NULL OR gpu_index IS NOT NULL
    GROUP BY capture_id, gpu_uuid, pci_bus_id, gpu_index
),
from_readings AS (
    SELECT
        capture_id,
        gpu_uuid,
        pci_bus_id,
        gpu_index,
        capture_line,
        observed_at,
        CASE WHEN models = 1 THEN model END AS model,
        CASE WHEN models > 1 THEN 'conflicting_sources' ELSE why_absent(absent, 'model') END AS why_model,
        CASE WHEN drivers = 1 THEN driver_version END AS driver_version,
        CASE WHEN drivers > 1 THEN 'conflicting_sources' ELSE why_absent(absent, 'driver_version') END AS why_driver_version,
        CASE WHEN vbioses = 1 THEN vbios_version END AS vbios_version,
        CASE WHEN vbioses > 1 THEN 'conflicting_sources' ELSE why_absent(absent, 'vbios_version') END AS why_vbios_version,
        CASE WHEN modes = 1 THEN mig_mode END AS mig_mode,
        -- N/A in one row and an error in another is no answer: N/A alone says that there is no MIG.
        CASE
            WHEN modes > 1 OR why_absent(least_absent, 'mig_mode') <> why_absent(most_absent, 'mig_mode')
                THEN 'conflicting_sources'
            ELSE why_absent(absent, 'mig_mode')
        END AS why_mig_mode,
        why_absent(absent, 'pci_bus_id') AS why_pci_bus_id,
        false AS has_children
    FROM readings
),
listed AS (
    SELECT
        capture_id,
        gpu_uuid,
        min(gpu_index) AS gpu_index,
        min(capture_line) AS capture_line,
        CASE WHEN count(DISTINCT model) = 1 THEN min(model) END AS model,
        CASE WHEN count(DISTINCT model) > 1 THEN 'conflicting_sources' ELSE 'not_recorded' END AS why_model
    FROM stg_gpu_list
    -- A masked UUID is the same for every GPU: its index keeps the GPUs of one listing apart.
    GROUP BY capture_id, gpu_uuid, CASE WHEN is_masked_uuid(gpu_uuid) THEN gpu_index END
),
from_list AS (
    SELECT
        listed.capture_id,
        listed.gpu_uuid,
        NULL AS pci_bus_id,
        listed.gpu_index,
        listed.capture_line,
        NULL::TIMESTAMPTZ AS observed_at,
        listed.model,
        listed.why_model,
        NULL AS driver_version,
        'not_recorded' AS why_driver_version,
        NULL AS vbios_version,
        'not_recorded' AS why_vbios_version,
        NULL AS mig_mode,
        'not_recorded' AS why_mig_mode,
        'not_recorded' AS why_pci_bus_id,
        EXISTS (
            FROM stg_mig_devices AS children
            WHERE
                children.capture_id = listed.capture_id
                AND children.parent_gpu_uuid = listed.gpu_uuid
                AND (NOT is_masked_uuid(listed.gpu_uuid) OR children.gpu_index = listed.gpu_index)
        ) AS has_children
    FROM listed
),
queried AS (
    SELECT
        capture_id,
        gpu,
        min(capture_line) AS capture_line,
        min(value_text) FILTER (field = 'GPU UUID') AS gpu_uuid,
        min(value_text) FILTER (field = 'Product Name') AS model,
        count(DISTINCT value_text) FILTER (field = 'Product Name') AS models,
        min(upper(value_text)) FILTER (field = 'VBIOS Version') AS vbios_version,
        count(DISTINCT upper(value_text)) FILTER (field = 'VBIOS Version') AS vbioses,
        min(value_text) FILTER (field = 'MIG Mode > Current') AS mig_mode,
        count(DISTINCT value_text) FILTER (field = 'MIG Mode > Current') AS modes,
        min(why_absent(absent, 'value_text')) FILTER (field = 'Product Name') AS why_model,
        min(why_absent(absent, 'value_text')) FILTER (field = 'VBIOS Version') AS why_vbios_version,
        min(why_absent(absent, 'value_text')) FILTER (field = 'MIG Mode > Current') AS why_mig_mode,
        coalesce(bool_or(field = 'MIG Device > Index' AND value_text IS NOT NULL), false) AS has_children
    FROM stg_gpu_query
    WHERE gpu IS NOT NULL
    GROUP BY capture_id, gpu
),
drivers AS (
    SELECT
        capture_id,
        -- A remark in brackets behind the version ([Deprecated; ...]) is not part of it.
        min(regexp_extract(value_text, '^[0-9.]+')) AS driver_version,
        count(DISTINCT value_text) AS versions
    FROM stg_gpu_query
    WHERE gpu IS NULL AND field = 'Driver Version' AND value_text IS NOT NULL
    GROUP BY capture_id
),
from_query AS (
    SELECT
        queried.capture_id,
        queried.gpu_uuid,
        queried.gpu AS pci_bus_id,
        NULL::INTEGER AS gpu_index,
        queried.capture_line,
        NULL::TIMESTAMPTZ AS observed_at,
        CASE WHEN queried.models = 1 THEN queried.model END AS model,
        CASE WHEN queried.models > 1 THEN 'conflicting_sources' ELSE coalesce(queried.why_model, 'not_recorded') END AS why_model,
        CASE WHEN drivers.versions = 1 THEN drivers.driver_version END AS driver_version,
        CASE WHEN drivers.versions > 1 THEN 'conflicting_sources' ELSE 'not_recorded' END AS why_driver_version,
        CASE WHEN queried.vbioses = 1 THEN queried.vbios_version END AS vbios_version,
        CASE
            WHEN queried.vbioses > 1 THEN 'conflicting_sources' ELSE coalesce(queried.why_vbios_version, 'not_recorded')
        END AS why_vbios_version,
        CASE WHEN queried.modes = 1 THEN queried.mig_mode END AS mig_mode,
        CASE WHEN queried.modes > 1 THEN 'conflicting_sources' ELSE coalesce(queried.why_mig_mode, 'not_recorded') END
            AS why_mig_mode,
        NULL AS why_pci_bus_id,
        queried.has_children
    FROM queried
    LEFT JOIN drivers USING (capture_id)
),
sightings AS (
    SELECT * FROM from_readings
    UNION ALL BY NAME
    SELECT * FROM from_list
    UNION ALL BY NAME
    SELECT * FROM from_query
)
SELECT
    gpu_device_id(
        sightings.gpu_uuid, captures.is_masked, sightings.pci_bus_id, sightings.gpu_index, sightings.capture_id
    ) AS device_id,
    sightings.* EXCLUDE (observed_at),
    captures.capture_sha256,
    coalesce(sightings.observed_at, captures.captured_at) AS observed_at,
    captures.source,
    captures.is_simulated,
    captures.viewer
FROM sightings
INNER JOIN stg_captures AS captures USING (capture_id)
