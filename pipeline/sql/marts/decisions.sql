-- One row per captured decision, and whether it is in force.
-- A later decision supersedes one by naming it. Two contents under one id are none in force: neither is known to be first.
--   is_in_force: Whether it is accepted, not superseded by an accepted one, and the only content of its id.
--   superseded_by: The accepted decision that supersedes it.
WITH
superseded AS (
    SELECT claims.name AS decision_id, min(later.decision_id) AS superseded_by
    FROM stg_decision_claims AS claims
    INNER JOIN stg_decisions AS later USING (capture_id, decision_id)
    WHERE claims.claim_kind = 'supersedes' AND later.status = 'accepted'
    GROUP BY claims.name
),
contents AS (
    SELECT decision_id, count(DISTINCT decision_sha256) AS contents FROM stg_decisions GROUP BY decision_id
)
SELECT
    decisions.*,
    decisions.status = 'accepted' AND superseded.superseded_by IS NULL AND contents.contents = 1 AS is_in_force,
    superseded.superseded_by
FROM stg_decisions AS decisions
INNER JOIN contents USING (decision_id)
LEFT JOIN superseded USING (decision_id)
