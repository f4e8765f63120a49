-- One row per scenario, as recorded.
SELECT * FROM evidence.scenarios
