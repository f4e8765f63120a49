-- One row per counter of an exporter catalogue, as recorded.
SELECT * FROM evidence.dcgm_counters
