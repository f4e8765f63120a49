-- One row per declared worst case of a fault, as recorded.
SELECT * FROM evidence.scenario_faults
