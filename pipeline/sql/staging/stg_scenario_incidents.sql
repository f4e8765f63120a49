-- One row per incident, as recorded.
SELECT * FROM evidence.scenario_incidents
