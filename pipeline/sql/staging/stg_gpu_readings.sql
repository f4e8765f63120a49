-- One row per GPU and sweep of a --query-gpu capture. VBIOS versions are compared in upper case: the same card prints
-- 7A on Linux and 7a on Windows. An empty cell where a GPU is named names none. Old tools print PCI domains of 4 digits.
SELECT
    * REPLACE (
        upper(vbios_version) AS vbios_version,
        nullif(gpu_uuid, '') AS gpu_uuid,
        CASE length(pci_bus_id) WHEN 0 THEN NULL WHEN 12 THEN '0000' || pci_bus_id ELSE pci_bus_id END AS pci_bus_id
    )
FROM evidence.gpu_readings
