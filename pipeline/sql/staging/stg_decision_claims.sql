-- One row per statement of a decision, as recorded.
SELECT * FROM evidence.decision_claims
