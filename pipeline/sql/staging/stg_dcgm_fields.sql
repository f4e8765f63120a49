-- One row per DCGM_FI_ name of a header, as recorded.
SELECT * FROM evidence.dcgm_fields
