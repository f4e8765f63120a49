-- One row per number or flag that a record states about itself.
SELECT * FROM evidence.gate_assertions
