-- One row per GPU and fact: what is known, from where, or why it is not known.
-- What every sighting agrees on is known. Where sightings differ, the newest decides if their order is known (a driver is
-- updated, MIG is switched); a model does not change, so differing models conflict. A failure to read is no answer.
--   device_id: UUID of the GPU; without one, or masked, a name that holds within its capture.
--   fact: physical_id, model, pci_bus_id, driver_version, firmware, partitioning, supported_capabilities, time_slicing,
--     mps, virtualization, region, assigned_tenant, attestation.
--   value: The fact's value; NULL when it is not known.
--   is_known: Whether the value is known.
--   source: Class of the source that it comes from.
--   reason_code: Why it is not known; NULL when it is.
--   capture_line: Line that shows it.
WITH
said AS (
    UNPIVOT (
        SELECT
            device_id,
            capture_id,
            capture_sha256,
            capture_line,
            observed_at,
            source,
            is_simulated,
            [CASE WHEN device_id = gpu_uuid THEN gpu_uuid END, CASE WHEN device_id <> gpu_uuid THEN 'masked' ELSE 'not_recorded' END]
                AS physical_id,
            [model, why_model] AS model,
            [pci_bus_id, why_pci_bus_id] AS pci_bus_id,
            [driver_version, why_driver_version] AS driver_version,
            [vbios_version, why_vbios_version] AS firmware,
            -- N/A means that the GPU has no MIG, which is an answer; an error in the same place is none.
            [
                CASE
                    WHEN mig_mode = 'Enabled' OR has_children THEN 'mig'
                    WHEN mig_mode = 'Disabled' OR why_mig_mode = 'not_supported' THEN 'none'
                END,
                CASE WHEN mig_mode IS NULL THEN why_mig_mode WHEN mig_mode = '' THEN 'not_available' ELSE 'unparsable' END
            ] AS partitioning,
            [
                CASE
                    WHEN mig_mode IN ('Enabled', 'Disabled') OR has_children THEN 'mig'
                    WHEN why_mig_mode = 'not_supported' THEN 'none'
                END,
                CASE WHEN mig_mode IS NULL THEN why_mig_mode WHEN mig_mode = '' THEN 'not_available' ELSE 'unparsable' END
            ] AS supported_capabilities
        FROM device_sightings
    )
    ON physical_id, model, pci_bus_id, driver_version, firmware, partitioning, supported_capabilities
    INTO NAME fact VALUE answer
),
answers AS (
    SELECT * EXCLUDE (answer), answer[1] AS value, answer[2] AS why FROM said
),
counted AS (
    SELECT
        device_id,
        fact,
        count(DISTINCT value) AS values_found,
        count(value) = count(CASE WHEN value IS NOT NULL THEN observed_at END) AS is_ordered,
        max(observed_at) FILTER (value IS NOT NULL) AS newest,
        -- The most telling reason: an error tells more than a column that nobody asked for.
        coalesce(
            min(why) FILTER (value IS NULL AND why <> 'not_recorded'), min(why) FILTER (value IS NULL), 'not_recorded'
        ) AS why
    FROM answers
    GROUP BY device_id, fact
),
newest AS (
    SELECT
        answers.device_id,
        answers.fact,
        count(DISTINCT answers.value) AS values_found,
        min(answers.value) AS value
    FROM answers
    INNER JOIN counted USING (device_id, fact)
    WHERE answers.value IS NOT NULL AND answers.observed_at = counted.newest
    GROUP BY answers.device_id, answers.fact
),
resolved AS (
    SELECT
        counted.device_id,
        counted.fact,
        CASE
            WHEN counted.values_found = 1 THEN any_answer.value
            WHEN counted.fact <> 'model' AND counted.is_ordered AND newest.values_found = 1 THEN newest.value
        END AS value,
        CASE WHEN counted.values_found > 1 THEN 'CONFLICTING_SOURCES' ELSE upper(counted.why) END AS reason_code
    FROM counted
    LEFT JOIN newest USING (device_id, fact)
    LEFT JOIN (
        SELECT device_id, fact, min(value) AS value FROM answers GROUP BY device_id, fact
    ) AS any_answer USING (device_id, fact)
),
evidence AS (
    -- The newest capture that says the value; the least id where the order is unknown.
    SELECT answers.*
    FROM answers
    INNER JOIN resolved ON answers.device_id = resolved.device_id AND answers.fact = resolved.fact
        AND answers.value IS NOT DISTINCT FROM resolved.value
    QUALIFY row_number() OVER (
        PARTITION BY answers.device_id, answers.fact ORDER BY answers.observed_at DESC NULLS LAST, answers.capture_id, answers.capture_line
    ) = 1
),
known AS (
    SELECT
        resolved.device_id,
        resolved.fact,
        resolved.value,
        resolved.value IS NOT NULL AS is_known,
        evidence.source,
        evidence.is_simulated,
        CASE WHEN resolved.value IS NULL THEN resolved.reason_code END AS reason_code,
        evidence.capture_id,
        evidence.capture_sha256,
        evidence.capture_line
    FROM resolved
    LEFT JOIN evidence USING (device_id, fact)
),
unanswerable AS (
    -- What a device query cannot tell: absence is not proof.
    SELECT devices.device_id, facts.fact, facts.reason_code
    FROM (SELECT DISTINCT device_id FROM device_sightings) AS devices
    CROSS JOIN (
        VALUES
            ('time_slicing', 'SHARING_CONFIG_NEEDED'),
            ('mps', 'SHARING_CONFIG_NEEDED'),
            ('virtualization', 'HOST_STATE_NEEDED'),
            ('region', 'ADMIN_ASSERTION_NEEDED'),
            ('assigned_tenant', 'ADMIN_ASSERTION_NEEDED'),
            ('attestation', 'UNSUPPORTED')
    ) AS facts (fact, reason_code)
)
SELECT * FROM known
UNION ALL BY NAME
SELECT device_id, fact, false AS is_known, reason_code FROM unanswerable
