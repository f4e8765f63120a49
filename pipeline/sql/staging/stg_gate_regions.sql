-- One row per timed region of a reading and scope, as recorded.
SELECT * FROM evidence.gate_regions
