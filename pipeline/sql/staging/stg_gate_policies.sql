-- One row per captured gate policy, as recorded.
SELECT * FROM evidence.gate_policies
