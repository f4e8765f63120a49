-- One row per case of a perf-gate record, as recorded.
SELECT * FROM evidence.gate_cases
