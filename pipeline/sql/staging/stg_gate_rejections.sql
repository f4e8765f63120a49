-- One row per reason of a rejected attempt, as recorded.
SELECT * FROM evidence.gate_rejections
