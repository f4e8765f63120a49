-- One row per number that a decision states about a perf gate, answered from the records.
-- The value found is rounded to the decimals that the statement gives. A statement that fits several readings holds only if it
-- holds for each of them.
--   claim: What is stated, as region, scope, lock and quantity.
--   stated: The number stated, with its decimals.
--   found: The values found, rounded to the same decimals; NULL: none.
--   found_exactly: The first value found, unrounded.
--   answer: supported, contradicted or unsupported (nothing in evidence to compare with).
--   evidence: The records that gave the values, as `gpu-evidence show` takes them.
--   rests_on_claim: Whether every record that gave a value is itself a claim: a reconstruction or a published claim.
--   is_in_force: Whether the decision is in force.
WITH
claims AS (
    SELECT
        claims.*,
        decisions.is_in_force,
        coalesce(claims.digits, 0) AS decimals
    FROM stg_gate_claims AS claims
    INNER JOIN decisions USING (capture_id, decision_id)
),
values_found AS (
    SELECT capture_id, capture_sha256, case_id, lock_name, region, scope, 'ratio_of_medians' AS quantity, ratio_of_medians AS found FROM gate_regions
    UNION ALL BY NAME
    SELECT capture_id, capture_sha256, case_id, lock_name, region, scope, 'baseline_ms' AS quantity, baseline_ms AS found FROM gate_regions
    UNION ALL BY NAME
    SELECT capture_id, capture_sha256, case_id, lock_name, region, scope, 'candidate_ms' AS quantity, candidate_ms AS found FROM gate_regions
    UNION ALL BY NAME
    SELECT capture_id, capture_sha256, case_id, lock_name, 'rounds_accepted' AS quantity, rounds_accepted::DOUBLE AS found FROM gate_readings
    UNION ALL BY NAME
    SELECT capture_id, capture_sha256, case_id, lock_name, 'rounds_rejected' AS quantity, rounds_rejected::DOUBLE AS found FROM gate_readings
    UNION ALL BY NAME
    SELECT capture_id, capture_sha256, case_id, lock_name, 'locked_sm_clock_mhz' AS quantity, locked_sm_clock_mhz::DOUBLE AS found FROM gate_readings
    UNION ALL BY NAME
    SELECT capture_id, capture_sha256, case_id, lock_name, 'locked_memory_clock_mhz' AS quantity, locked_memory_clock_mhz::DOUBLE AS found
    FROM gate_readings
    UNION ALL BY NAME
    SELECT capture_id, capture_sha256, case_id, lock_name, 'power_limit_w' AS quantity, power_limit_w AS found FROM gate_readings
),
matched AS (
    SELECT
        claims.capture_id,
        claims.capture_pointer,
        values_found.capture_sha256 AS record_sha256,
        values_found.found,
        coalesce(records.is_reconstruction, false) OR coalesce(captures.source = 'published_claim', false) AS is_claim,
        round(values_found.found, claims.decimals) AS rounded
    FROM claims
    INNER JOIN values_found
        ON claims.case_id = values_found.case_id AND claims.quantity = values_found.quantity
        AND (claims.lock_name IS NULL OR claims.lock_name = values_found.lock_name)
        AND (claims.region IS NULL OR claims.region = values_found.region)
        AND (claims.scope IS NULL OR claims.scope = values_found.scope)
        AND (claims.record_sha256 IS NULL OR claims.record_sha256 = values_found.capture_sha256)
    INNER JOIN stg_gate_records AS records ON values_found.capture_id = records.capture_id
    INNER JOIN captures ON values_found.capture_id = captures.capture_id
    WHERE values_found.found IS NOT NULL
),
answers AS (
    SELECT
        capture_id,
        capture_pointer,
        list(DISTINCT rounded ORDER BY rounded) AS found,
        min_by(found, record_sha256) AS found_exactly,
        bool_and(is_claim) AS rests_on_claim,
        string_agg(DISTINCT record_sha256, ' ' ORDER BY record_sha256) AS evidence
    FROM matched
    GROUP BY capture_id, capture_pointer
)
SELECT
    claims.capture_id,
    claims.capture_sha256,
    claims.capture_pointer,
    claims.decision_id,
    claims.is_in_force,
    claims.case_id,
    claims.region,
    claims.scope,
    claims.lock_name,
    claims.quantity,
    claims.case_id || coalesce(' ' || region_text(claims.region, claims.scope), '') || coalesce(' at ' || claims.lock_name, '')
    || ': ' || claims.quantity AS claim,
    decimals_text(claims.value, claims.decimals) AS stated,
    array_to_string(list_transform(answers.found, lambda value: decimals_text(value, claims.decimals)), ' ') AS found,
    answers.found_exactly,
    CASE
        WHEN answers.found IS NULL THEN 'unsupported'
        WHEN len(answers.found) = 1 AND answers.found[1] = round(claims.value, claims.decimals) THEN 'supported'
        ELSE 'contradicted'
    END AS answer,
    coalesce(answers.rests_on_claim, false) AS rests_on_claim,
    answers.evidence,
    claims.text
FROM claims
LEFT JOIN answers USING (capture_id, capture_pointer)
