-- One row per measured time.
SELECT * FROM evidence.gate_samples
