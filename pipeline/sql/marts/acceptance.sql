-- One row per subject and requirement. The first requirement is that the evidence itself is whole; claims must hold; what a
-- decision in force accepts must stand; scenarios must be evaluated and what they require must be admitted; perf gates must
-- pass, their records agree with themselves, and what decisions say of them must hold.
-- Unknown is never a pass: what cannot be judged is indeterminate.
--   subject: What is judged: the path of a capture, a product and driver, a contract, a scenario.
--   requirement: evidence_is_whole, claim_is_verified, contract_profile_stands, contract_fields_are_defined, scenario_is_evaluated,
--     thermal_envelope, gpu_fault_profile, perf_gate, gate_record_agrees or gate_claims_hold.
--   verdict: pass, fail or indeterminate.
--   reason_code: Why.
--   detail: The same in words.
--   capture_line: Line of the capture that shows it; NULL: the whole capture.
--   evidence: The same as SHA or SHA:LINE, as `gpu-evidence show` takes it.
WITH
worst AS (
    SELECT
        capture_id,
        count(*) FILTER (severity = 'error') AS errors,
        count(*) FILTER (severity = 'warning') AS warnings,
        arg_min(code, capture_line) FILTER (severity = 'error') AS error_code,
        min(code) FILTER (severity = 'error') AS any_error_code,
        min(capture_line) FILTER (severity = 'error') AS error_line,
        min(code) FILTER (severity = 'warning') AS warning_code,
        min(capture_line) FILTER (severity = 'warning') AS warning_line
    FROM source_errors
    GROUP BY capture_id
),
whole AS (
    SELECT
        captures.path AS subject,
        'evidence_is_whole' AS requirement,
        CASE
            WHEN captures.status = 'quarantined' OR worst.errors > 0 THEN 'fail'
            WHEN worst.warnings > 0 OR captures.is_accounted_for IS NOT true THEN 'indeterminate'
            ELSE 'pass'
        END AS verdict,
        CASE
            WHEN captures.status = 'quarantined' THEN 'QUARANTINED'
            WHEN worst.errors > 0 THEN 'EVIDENCE_REFUSED'
            WHEN worst.warnings > 0 THEN 'EVIDENCE_DOUBTFUL'
            WHEN captures.is_accounted_for IS NOT true THEN 'NOT_ACCOUNTED_FOR'
            ELSE 'EVIDENCE_WHOLE'
        END AS reason_code,
        CASE
            WHEN captures.status = 'quarantined' THEN 'nothing usable: ' || coalesce(captures.status_reason, 'no reason recorded')
            WHEN worst.errors > 0 THEN worst.errors || ' refused, first: ' || coalesce(worst.error_code, worst.any_error_code)
            WHEN worst.warnings > 0 THEN worst.warnings || ' in doubt: ' || worst.warning_code
            ELSE 'all ' || captures.total_count || ' ' || captures.counted || ' accounted for'
        END AS detail,
        captures.capture_id,
        captures.capture_sha256,
        coalesce(worst.error_line, worst.warning_line) AS capture_line
    FROM captures
    LEFT JOIN worst USING (capture_id)
),
claims AS (
    SELECT
        path AS subject,
        'claim_is_verified' AS requirement,
        CASE claim_status WHEN 'claim_verified' THEN 'pass' ELSE 'indeterminate' END AS verdict,
        upper(claim_status) AS reason_code,
        CASE claim_status
            WHEN 'claim_verified' THEN 'the bytes hash to the claimed ' || left(claimed_sha256, 12)
            ELSE 'claimed ' || left(claimed_sha256, 12) || ', the bytes hash to ' || coalesce(left(capture_sha256, 12), 'nothing')
        END AS detail,
        capture_id,
        capture_sha256,
        NULL::INTEGER AS capture_line
    FROM captures
    WHERE claim_status IS NOT NULL
),
profiles AS (
    -- Profiles that somebody decided about; a candidate is no requirement.
    SELECT
        profiles.product || ', driver ' || profiles.driver_version AS subject,
        'contract_profile_stands' AS requirement,
        CASE
            WHEN profiles.status = 'contradicted' THEN 'fail'
            WHEN profiles.status = 'accepted' AND profiles.rests_on_claim IS false THEN 'pass'
            ELSE 'indeterminate'
        END AS verdict,
        CASE WHEN profiles.status = 'accepted' AND profiles.rests_on_claim IS NOT false THEN 'RESTS_ON_CLAIM' ELSE profiles.reason_code END
            AS reason_code,
        CASE
            WHEN profiles.status = 'contradicted' AND contradictions.first IS NOT NULL THEN contradictions.first
            WHEN profiles.status = 'contradicted' THEN 'several decisions in force are about it'
            ELSE
                'accepted by ' || profiles.decision_id
                || CASE WHEN profiles.rests_on_claim IS NOT false THEN '; no observation confirms all of its bounds' ELSE '' END
        END AS detail,
        decided.capture_id,
        decided.capture_sha256,
        NULL::INTEGER AS capture_line
    FROM contract_profiles AS profiles
    INNER JOIN (
        SELECT
            product,
            driver_version,
            min(capture_id) AS capture_id,
            arg_min(capture_sha256, capture_id) AS capture_sha256
        FROM decisions WHERE is_in_force GROUP BY product, driver_version
    ) AS decided USING (product, driver_version)
    LEFT JOIN (
        SELECT product, driver_version, arg_min(bound || ': ' || one || ' against ' || other, bound || reason_code) AS first
        FROM profile_contradictions
        GROUP BY product, driver_version
    ) AS contradictions USING (product, driver_version)
),
coverage AS (
    SELECT
        decision_id AS subject,
        'contract_fields_are_defined' AS requirement,
        CASE WHEN bool_or(is_wrong) THEN 'fail' WHEN bool_or(is_open) THEN 'indeterminate' ELSE 'pass' END AS verdict,
        coalesce(min(reason_code) FILTER (is_wrong), min(reason_code) FILTER (is_open), 'DEFINED') AS reason_code,
        coalesce(
            'not as the contract uses them: ' || string_agg(field_name, ', ' ORDER BY field_name) FILTER (is_wrong),
            'not known of: ' || string_agg(field_name, ', ' ORDER BY field_name) FILTER (is_open),
            'the header defines all ' || count(*) || ' fields, '
            || count(*) FILTER (reason_code = 'DEFINED_UNDER_NEW_NAME') || ' under a new name'
        ) AS detail,
        capture_id,
        capture_sha256,
        NULL::INTEGER AS capture_line
    FROM (
        SELECT
            *,
            reason_code IN ('ID_DIFFERS', 'NOT_DEFINED', 'NOT_IN_HEADER') AS is_wrong,
            reason_code NOT IN ('ID_DIFFERS', 'NOT_DEFINED', 'NOT_IN_HEADER', 'DEFINED', 'DEFINED_UNDER_NEW_NAME') AS is_open
        FROM contract_coverage
        WHERE is_in_force
    )
    GROUP BY decision_id, capture_id, capture_sha256
),
scenarios_evaluated AS (
    -- A limited GPU is an answer. Scenarios without any demand ask for no constraints.
    SELECT
        scenario AS subject,
        'scenario_is_evaluated' AS requirement,
        CASE
            WHEN bool_or(reason_code = 'SCENARIO_REFUSED') THEN 'fail'
            WHEN bool_or(limiter_state = 'not_evaluated' AND reason_code <> 'GPU_UNAVAILABLE') THEN 'indeterminate'
            ELSE 'pass'
        END AS verdict,
        CASE
            WHEN bool_or(reason_code = 'SCENARIO_REFUSED') THEN 'SCENARIO_REFUSED'
            WHEN bool_or(limiter_state = 'not_evaluated' AND reason_code <> 'GPU_UNAVAILABLE')
                THEN arg_min(reason_code, position) FILTER (limiter_state = 'not_evaluated' AND reason_code <> 'GPU_UNAVAILABLE')
            ELSE 'EVALUATED'
        END AS reason_code,
        CASE
            WHEN bool_or(reason_code = 'SCENARIO_REFUSED') THEN any_value(reason)
            WHEN bool_or(limiter_state = 'not_evaluated' AND reason_code <> 'GPU_UNAVAILABLE')
                THEN count(*) FILTER (limiter_state = 'not_evaluated' AND reason_code <> 'GPU_UNAVAILABLE') || ' of ' || count(*)
                || ' GPUs are not evaluated, first ' || arg_min(gpu_id || ': ' || reason, position)
                    FILTER (limiter_state = 'not_evaluated' AND reason_code <> 'GPU_UNAVAILABLE')
            ELSE
                count(*) FILTER (limiter_state = 'active') || ' of ' || count(*) || ' GPUs are limited, '
                || count(*) FILTER (reason_code = 'GPU_UNAVAILABLE') || ' unavailable'
        END AS detail,
        capture_id,
        capture_sha256,
        NULL::INTEGER AS capture_line
    FROM clock_constraints
    GROUP BY scenario, capture_id, capture_sha256
    HAVING bool_or(reason_code <> 'DEMAND_NOT_DECLARED')
),
admissions AS (
    SELECT
        admitted.scenario AS subject,
        admitted.capability AS requirement,
        CASE
            WHEN bool_or(admitted.verdict = 'fail') THEN 'fail'
            WHEN bool_or(admitted.verdict = 'indeterminate') THEN 'indeterminate'
            ELSE 'pass'
        END AS verdict,
        CASE
            WHEN bool_or(admitted.verdict = 'fail') THEN arg_min(admitted.reason_code, admitted.position) FILTER (admitted.verdict = 'fail')
            WHEN bool_or(admitted.verdict = 'indeterminate')
                THEN arg_min(admitted.reason_code, admitted.position) FILTER (admitted.verdict = 'indeterminate')
            ELSE 'ADMITTED'
        END AS reason_code,
        count(*) FILTER (admitted.verdict = 'pass') || ' of ' || count(*) || ' GPUs are admitted'
        || coalesce(
            ', first not: ' || arg_min(admitted.gpu_id, admitted.position) FILTER (admitted.verdict = 'fail'),
            ', first not known: ' || arg_min(admitted.gpu_id, admitted.position) FILTER (admitted.verdict = 'indeterminate'),
            ''
        ) AS detail,
        admitted.capture_id,
        admitted.capture_sha256,
        NULL::INTEGER AS capture_line
    FROM fault_admissions AS admitted
    INNER JOIN stg_scenarios AS asked ON admitted.capture_id = asked.capture_id AND admitted.scenario = asked.scenario
    WHERE list_contains(string_split(asked.required_capabilities, ' '), admitted.capability)
    GROUP BY admitted.scenario, admitted.capability, admitted.capture_id, admitted.capture_sha256
),
gates AS (
    -- What was put together from published figures, or simulated, proves nothing of a machine.
    SELECT
        verdicts.case_id || ' (' || captures.path || ')' AS subject,
        'perf_gate' AS requirement,
        CASE
            WHEN verdicts.verdict = 'pass' AND (verdicts.is_reconstruction OR captures.source = 'published_claim') THEN 'indeterminate'
            WHEN verdicts.verdict = 'pass' AND captures.is_simulated THEN 'indeterminate'
            ELSE verdicts.verdict
        END AS verdict,
        CASE
            WHEN verdicts.verdict = 'pass' AND (verdicts.is_reconstruction OR captures.source = 'published_claim') THEN 'RESTS_ON_CLAIM'
            WHEN verdicts.verdict = 'pass' AND captures.is_simulated THEN 'SIMULATED'
            ELSE verdicts.reason_code
        END AS reason_code,
        verdicts.detail
        || CASE verdicts.basis
            WHEN 'fallback' THEN '; the first rung cannot hold'
            WHEN 'decision' THEN '; ' || verdicts.decision_id || ' names this reading'
            ELSE ''
        END
        || CASE WHEN verdicts.is_reconstruction THEN '; the record is a reconstruction' ELSE '' END AS detail,
        verdicts.capture_id,
        verdicts.capture_sha256,
        NULL::INTEGER AS capture_line
    FROM gate_verdicts AS verdicts
    INNER JOIN captures USING (capture_id)
    WHERE verdicts.reason_code NOT IN ('UNPAIRED', 'SUMMARY_ONLY', 'SKIPPED')
    UNION ALL BY NAME
    -- Benchmark files hold hundreds of cases that no gate can judge: one row for each file.
    SELECT
        captures.path AS subject,
        'perf_gate' AS requirement,
        'indeterminate' AS verdict,
        CASE
            WHEN bool_or(verdicts.reason_code = 'UNPAIRED') THEN 'UNPAIRED'
            WHEN bool_or(verdicts.reason_code = 'SUMMARY_ONLY') THEN 'SUMMARY_ONLY'
            ELSE 'SKIPPED'
        END AS reason_code,
        'unpaired, and nothing shows that a clock lock held: ' || count(*) || ' cases, '
        || count_if(verdicts.reason_code = 'SUMMARY_ONLY') || ' of them summaries alone, '
        || count_if(verdicts.reason_code = 'SKIPPED') || ' skipped' AS detail,
        verdicts.capture_id,
        verdicts.capture_sha256,
        NULL::INTEGER AS capture_line
    FROM gate_verdicts AS verdicts
    INNER JOIN captures USING (capture_id)
    WHERE verdicts.reason_code IN ('UNPAIRED', 'SUMMARY_ONLY', 'SKIPPED')
    GROUP BY captures.path, verdicts.capture_id, verdicts.capture_sha256
),
records AS (
    SELECT
        captures.path AS subject,
        'gate_record_agrees' AS requirement,
        CASE
            WHEN bool_or(wrong.reason_code = 'DIFFERS') THEN 'fail'
            WHEN count(wrong.capture_id) > 0 THEN 'indeterminate'
            ELSE 'pass'
        END AS verdict,
        coalesce(min(wrong.reason_code) FILTER (wrong.reason_code = 'DIFFERS'), min(wrong.reason_code), 'AGREES') AS reason_code,
        coalesce(
            count(wrong.capture_id) || ' statements are not borne out, first: '
            || min_by(wrong.detail, coalesce(wrong.reason_code <> 'DIFFERS', true)::VARCHAR || wrong.capture_pointer),
            'all ' || any_value(stated.statements) || ' numbers that can be checked are what the measurements give'
        ) AS detail,
        stated.capture_id,
        stated.capture_sha256,
        NULL::INTEGER AS capture_line
    FROM (
        SELECT
            capture_id,
            capture_sha256,
            count(*) FILTER (
                quantity IN ('ratio', 'baseline_ms', 'candidate_ms', 'baseline_spread', 'candidate_spread', 'within_gate')
                OR quantity IN ('busy_samples', 'rounds_with_busy_samples', 'rounds_accepted', 'sm_clock_min_mhz', 'noisy')
                OR quantity = 'clocks_locked_in_every_round'
            ) AS statements
        FROM stg_gate_assertions
        GROUP BY capture_id, capture_sha256
    ) AS stated
    INNER JOIN captures USING (capture_id)
    INNER JOIN stg_gate_records AS kept ON stated.capture_id = kept.capture_id AND kept.order_design IS DISTINCT FROM 'unpaired'
    LEFT JOIN gate_mismatches AS wrong ON stated.capture_id = wrong.capture_id
    WHERE stated.statements > 0
    GROUP BY captures.path, stated.capture_id, stated.capture_sha256
),
stated_numbers AS (
    SELECT
        claims.decision_id AS subject,
        'gate_claims_hold' AS requirement,
        CASE
            WHEN bool_or(claims.answer = 'contradicted' AND NOT claims.rests_on_claim) THEN 'fail'
            WHEN bool_or(claims.answer <> 'supported') THEN 'indeterminate'
            ELSE 'pass'
        END AS verdict,
        CASE
            WHEN bool_or(claims.answer = 'contradicted') THEN 'CONTRADICTED'
            WHEN bool_or(claims.answer = 'unsupported') THEN 'UNSUPPORTED'
            ELSE 'SUPPORTED'
        END AS reason_code,
        count_if(claims.answer = 'supported') || ' of ' || count(*) || ' numbers are supported'
        || coalesce(
            ', contradicted: '
            || string_agg(claims.claim || ' ' || claims.stated || ', found ' || claims.found, '; ' ORDER BY claims.capture_pointer)
                FILTER (claims.answer = 'contradicted'),
            ''
        )
        || CASE WHEN bool_or(claims.answer = 'contradicted' AND claims.rests_on_claim) THEN ' (in a record that is itself a claim)' ELSE '' END
            AS detail,
        claims.capture_id,
        claims.capture_sha256,
        NULL::INTEGER AS capture_line
    FROM gate_claims AS claims
    WHERE claims.is_in_force
    GROUP BY claims.decision_id, claims.capture_id, claims.capture_sha256
)
SELECT *, capture_sha256 || coalesce(':' || capture_line, '') AS evidence FROM whole
UNION ALL BY NAME
SELECT *, capture_sha256 AS evidence FROM claims
UNION ALL BY NAME
SELECT *, capture_sha256 AS evidence FROM profiles
UNION ALL BY NAME
SELECT *, capture_sha256 AS evidence FROM coverage
UNION ALL BY NAME
SELECT *, capture_sha256 AS evidence FROM scenarios_evaluated
UNION ALL BY NAME
SELECT *, capture_sha256 AS evidence FROM admissions
UNION ALL BY NAME
SELECT *, capture_sha256 AS evidence FROM gates
UNION ALL BY NAME
SELECT *, capture_sha256 AS evidence FROM records
UNION ALL BY NAME
SELECT *, capture_sha256 AS evidence FROM stated_numbers
