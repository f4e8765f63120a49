-- One row per number that a decision states about a perf gate.
SELECT * FROM evidence.gate_claims
