-- One row per declared demand, as recorded.
SELECT * FROM evidence.scenario_demands
