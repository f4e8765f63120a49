-- One row per record and case: which reading gates it, and the verdict.
-- The first rung of the ladder gates; a lower rung gates where it is proven that the first cannot hold, or where a decision in
-- force names it. Default-clock readings never gate. Fail if a gated region fails or outputs differ; pass only if every gated
-- region passes; otherwise indeterminate.
--   reading_id: The reading that gates; NULL: none does.
--   lock_name: Its clock lock.
--   policy: The policy that it was judged by.
--   basis: primary (first rung), fallback (first rung cannot hold), decision (a decision in force names the reading), or
--     fallback_unproven.
--   fallback_of: The reading that it stands in for.
--   fallback_reason: Why the fallback is justified or not.
--   decision_id: The decision in force that names the reading which gates the case.
--   verdict: pass, fail or indeterminate.
--   reason_code: Why.
--   detail: The same in words.
--   point_rule: What the harness's point rule says of the same regions.
--   regions_gated: Gated regions of the reading.
--   regions_passed: Those that pass.
--   is_lock_verified: Whether the lock held in every round of the plan.
--   off_lock_share_max: The largest share of busy time that may have been off the lock unseen in one of its runs (95 %).
--   default_readings: Default-clock readings that stand beside, ungated.
--   is_reconstruction: Whether the record says that it was put together later from published figures.
--   evidence: The record as `gpu-evidence show` takes it.
WITH
decided AS (
    SELECT
        claims.name AS case_id,
        count(DISTINCT claims.value_text) AS locks,
        min(claims.value_text) AS lock_name,
        min(claims.decision_id) AS decision_id
    FROM stg_decision_claims AS claims
    INNER JOIN decisions ON claims.capture_id = decisions.capture_id AND claims.decision_id = decisions.decision_id
    WHERE claims.claim_kind = 'gate_reading' AND decisions.is_in_force
    GROUP BY claims.name
),
readings AS (
    SELECT
        readings.*,
        count(*) OVER (PARTITION BY capture_id, case_id, lock_name) AS of_one_lock,
        CASE role WHEN 'gate' THEN 0 ELSE list_position(string_split(policy.ladder, ' '), lock_name) END AS rung
    FROM gate_readings AS readings
    CROSS JOIN gate_policy AS policy
    WHERE role IN ('gate', 'fallback')
),
cases AS (
    SELECT
        readings.capture_id,
        any_value(readings.capture_sha256) AS capture_sha256,
        readings.campaign,
        readings.case_id,
        any_value(readings.record_shape) AS record_shape,
        count_if(readings.role = 'ungated_default') AS default_readings,
        count_if(readings.role IN ('gate', 'fallback')) AS ladder_readings,
        bool_or(readings.order_design = 'unpaired') AS is_unpaired
    FROM gate_readings AS readings
    GROUP BY readings.capture_id, readings.campaign, readings.case_id
),
standing AS (
    -- A record of default clocks alone stands beside the gate of its set, and is no gate itself.
    SELECT cases.*
    FROM cases
    WHERE
        cases.ladder_readings > 0 OR cases.default_readings = 0
        OR NOT EXISTS (
            SELECT 1
            FROM cases AS others
            WHERE others.campaign = cases.campaign AND others.case_id = cases.case_id AND others.ladder_readings > 0
        )
),
candidates AS (
    SELECT
        standing.*,
        decided.decision_id,
        decided.locks AS decided_locks,
        decided.lock_name AS decided_lock,
        readings.reading_id,
        readings.lock_name,
        readings.role,
        readings.status,
        readings.fallback_of,
        readings.fallback_state,
        readings.fallback_reason,
        readings.of_one_lock,
        readings.rounds_rejected,
        readings.rounds_accepted,
        readings.rounds_not_counted,
        readings.rounds_counted,
        readings.planned_rounds,
        readings.off_lock_share_max,
        row_number() OVER (
            PARTITION BY standing.capture_id, standing.case_id
            ORDER BY
                -- the decided reading; else the first rung unless it was given up; else the highest proven rung; else the highest
                CASE
                    WHEN decided.locks = 1 THEN CASE WHEN readings.lock_name = decided.lock_name THEN 0 ELSE 9 END
                    WHEN readings.role = 'gate' AND readings.status <> 'not_measured' THEN 1
                    WHEN readings.fallback_state = 'proven' THEN 2
                    WHEN readings.role = 'fallback' THEN 3
                    ELSE 4
                END,
                readings.rung,
                readings.reading_id
        ) AS choice
    FROM standing
    LEFT JOIN decided ON standing.case_id = decided.case_id
    LEFT JOIN readings ON standing.capture_id = readings.capture_id AND standing.case_id = readings.case_id
),
chosen AS (SELECT * FROM candidates WHERE choice = 1),
regions AS (
    SELECT
        capture_id,
        case_id,
        reading_id,
        count(*) FILTER (verdict IS NOT NULL) AS regions_gated,
        count_if(verdict = 'pass') AS regions_passed,
        count_if(verdict = 'fail') AS regions_failed,
        count_if(reason_code = 'UNPAIRED') AS unpaired,
        min_by(reason_code, capture_pointer) FILTER (verdict = 'inconclusive') AS first_reason,
        min_by(region_text(region, scope), capture_pointer) FILTER (verdict = 'inconclusive') AS first_open,
        min_by(region_text(region, scope), capture_pointer) FILTER (verdict = 'fail') AS first_failed,
        min_by(not_counted_because, capture_pointer) FILTER (verdict = 'inconclusive') AS not_counted_because,
        max(ratio_of_medians / margin) FILTER (verdict IS NOT NULL) AS closest,
        CASE
            WHEN bool_or(point_rule = 'fail') FILTER (verdict IS NOT NULL) THEN 'fail'
            WHEN count(*) FILTER (verdict IS NOT NULL AND point_rule IS NULL) > 0 THEN NULL
            WHEN count(*) FILTER (verdict IS NOT NULL) > 0 THEN 'pass'
        END AS point_rule
    FROM gate_regions
    GROUP BY capture_id, case_id, reading_id
),
one_sided AS (
    SELECT capture_id, case_id, min_by(reason_code, capture_pointer) AS first_reason
    FROM gate_regions
    WHERE lock_name IS NULL
    GROUP BY capture_id, case_id
),
correctness AS (
    SELECT capture_id, case_id, all_true(is_output_equal) AS is_output_equal
    FROM stg_gate_cases
    GROUP BY capture_id, case_id
),
judged AS (
    SELECT
        chosen.*,
        policy.policy,
        correctness.is_output_equal,
        regions.* EXCLUDE (capture_id, case_id, reading_id),
        records.is_reconstruction,
        CASE
            WHEN chosen.role = 'gate' THEN 'primary'
            WHEN chosen.fallback_state = 'proven' THEN 'fallback'
            WHEN chosen.decided_locks = 1 AND chosen.lock_name = chosen.decided_lock THEN 'decision'
            WHEN chosen.role = 'fallback' THEN 'fallback_unproven'
        END AS basis,
        CASE
            WHEN chosen.reading_id IS NULL AND chosen.is_unpaired THEN coalesce(one_sided.first_reason, 'UNPAIRED')
            WHEN chosen.reading_id IS NULL THEN 'NO_GATED_READING'
            WHEN policy.is_ambiguous THEN 'POLICY_AMBIGUOUS'
            WHEN chosen.decided_locks > 1 THEN 'DECISIONS_DISAGREE'
            WHEN chosen.decided_locks = 1 AND chosen.lock_name <> chosen.decided_lock THEN 'DECIDED_READING_MISSING'
            WHEN chosen.of_one_lock > 1 THEN 'SEVERAL_READINGS'
            WHEN (chosen.decided_locks IS NULL OR chosen.decided_locks = 0) AND chosen.fallback_state = 'unproven' THEN 'FALLBACK_UNPROVEN'
            WHEN correctness.is_output_equal IS false THEN 'OUTPUTS_DIFFER'
            WHEN chosen.role = 'gate' AND chosen.status = 'not_measured' THEN 'NOT_MEASURED'
            WHEN regions.regions_failed > 0 THEN 'ABOVE_MARGIN'
            WHEN coalesce(regions.regions_gated, 0) = 0 THEN 'NOTHING_GATED'
            WHEN regions.regions_passed < regions.regions_gated THEN regions.first_reason
            WHEN correctness.is_output_equal IS NULL THEN 'OUTPUTS_NOT_COMPARED'
            ELSE 'WITHIN_MARGIN'
        END AS reason_code
    FROM chosen
    CROSS JOIN gate_policy AS policy
    INNER JOIN stg_gate_records AS records ON chosen.capture_id = records.capture_id
    LEFT JOIN correctness ON chosen.capture_id = correctness.capture_id AND chosen.case_id = correctness.case_id
    LEFT JOIN one_sided ON chosen.capture_id = one_sided.capture_id AND chosen.case_id = one_sided.case_id
    LEFT JOIN regions
        ON chosen.capture_id = regions.capture_id AND chosen.case_id = regions.case_id AND chosen.reading_id = regions.reading_id
)
SELECT
    capture_id,
    capture_sha256,
    case_id,
    reading_id,
    lock_name,
    policy,
    basis,
    fallback_of,
    fallback_reason,
    decision_id,
    CASE
        WHEN reason_code IN ('ABOVE_MARGIN', 'OUTPUTS_DIFFER') THEN 'fail'
        WHEN reason_code = 'WITHIN_MARGIN' THEN 'pass'
        ELSE 'indeterminate'
    END AS verdict,
    reason_code,
    CASE reason_code
        WHEN 'WITHIN_MARGIN' THEN
            'all ' || regions_gated || ' gated regions are within their margins at ' || lock_name || ' clocks'
        WHEN 'ABOVE_MARGIN' THEN regions_failed || ' of ' || regions_gated || ' gated regions are above the margin, first ' || first_failed
        WHEN 'OUTPUTS_DIFFER' THEN 'the two programs gave different outputs'
        WHEN 'OUTPUTS_NOT_COMPARED' THEN 'the times are within the margins; nobody says that the outputs are equal'
        WHEN 'FALLBACK_UNPROVEN' THEN
            'read at ' || lock_name || ' clocks, and it is not proven that the first rung cannot hold: ' || fallback_reason
        WHEN 'NOT_MEASURED' THEN 'given up: ' || rounds_rejected || ' attempts rejected, ' || rounds_accepted || ' of '
            || coalesce(planned_rounds::VARCHAR, '?') || ' rounds accepted; there is no reading at a lower rung'
        WHEN 'LOCK_UNVERIFIED' THEN
            'in ' || len(rounds_not_counted) || ' of ' || rounds_accepted || ' rounds it is not known that the lock held ('
            || not_counted_because || '): rounds ' || list_text(rounds_not_counted)
        WHEN 'LOCK_BROKEN' THEN 'the lock did not hold in accepted rounds (' || not_counted_because || '): rounds ' || list_text(rounds_not_counted)
        WHEN 'NO_GATED_READING' THEN 'only default clocks or unknown locks: they never gate'
        WHEN 'UNPAIRED' THEN 'one side alone, without rounds; whether a lock held is not known'
        WHEN 'SUMMARY_ONLY' THEN 'a summary without the times it was made of; whether a lock held is not known'
        WHEN 'SKIPPED' THEN 'skipped by the benchmark'
        WHEN 'POLICY_AMBIGUOUS' THEN 'several policies are captured; choose one with --policy'
        WHEN 'DECISIONS_DISAGREE' THEN 'decisions in force name different readings'
        WHEN 'DECIDED_READING_MISSING' THEN 'the decision names the reading at ' || decided_lock || ' clocks, which this record does not hold'
        WHEN 'SEVERAL_READINGS' THEN 'several readings at ' || lock_name || ' clocks'
        WHEN 'NOTHING_GATED' THEN 'no region of the reading is gated'
        ELSE
            (regions_gated - regions_passed) || ' of ' || regions_gated || ' gated regions are open, first ' || first_open || ': '
            || reason_code
    END AS detail,
    CASE WHEN basis IS NOT NULL THEN point_rule END AS point_rule,
    coalesce(regions_gated, 0) AS regions_gated,
    coalesce(regions_passed, 0) AS regions_passed,
    CASE WHEN reading_id IS NOT NULL THEN rounds_counted >= planned_rounds END AS is_lock_verified,
    off_lock_share_max,
    default_readings,
    is_reconstruction,
    capture_sha256 AS evidence
FROM judged
