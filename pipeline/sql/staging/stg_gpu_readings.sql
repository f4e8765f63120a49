-- One row per GPU and sweep of a --query-gpu capture. VBIOS versions are compared in upper case: the same card prints
-- 7A on Linux and 7a on Windows. An empty cell where a GPU is named names none.
SELECT
    * REPLACE (
        upper(vbios_version) AS vbios_version,
        nullif(gpu_uuid, '') AS gpu_uuid,
        nullif(pci_bus_id, '') AS pci_bus_id
    )
FROM evidence.gpu_readings
