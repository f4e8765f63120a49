-- One row per reading of a case, as recorded.
SELECT * FROM evidence.gate_readings
