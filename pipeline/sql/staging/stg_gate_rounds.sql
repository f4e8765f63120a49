-- One row per attempt at a round, as recorded.
SELECT * FROM evidence.gate_rounds
