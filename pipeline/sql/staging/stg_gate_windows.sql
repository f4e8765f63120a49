-- One row per run of one side within an attempt, as recorded.
SELECT * FROM evidence.gate_windows
