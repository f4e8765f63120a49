-- One row per product, exact driver version, bound, basis and value: what a contract profile may stand on.
-- Two rows of one bound and basis with different values contradict each other. A bound is never borrowed from another
-- driver or product, and none is made up: without a settled row the reference is NULL, and with it all that follows from it.
--   bound: sm_clock_max_mhz, memory_clock_max_mhz, power_limit_min_w, power_limit_max_w, core_slowdown_c, core_shutdown_c,
--     core_reference_c, core_max_operating_c, hbm_limit_c, and the offsets core_slowdown_offset_c, core_shutdown_offset_c,
--     core_max_operating_offset_c on the T.Limit scale.
--   value: Its value; NULL where it cannot be derived.
--   unit: Unit of the value.
--   role: activation (of a limiter), admission (to a capability), range (of a request or a budget) or retained (a fact, no rule).
--   basis: read (a capture prints it), derived (computed from what captures print) or pinned (a decision in force says it).
--   derivation: How it follows from the evidence, in words.
--   observations: Readings that show it.
--   spread_c: For the reference: greatest minus least sum over the settled rows.
--   sums_seen_c: For the reference: every sum seen, settled or not.
--   is_claim: Whether all of its evidence is a claim; NULL when a source is not said and nothing observed stands beside it.
--   sources: Classes of the sources, sorted.
--   capture_line: Line that shows it; for a derived bound that of its offset or of the greatest sum.
--   evidence: All captures and lines that it stands on, at most five of a kind, as SHA:LINE.
WITH
-- Each is read several times: computed once.
seen_observations AS MATERIALIZED (
    FROM profile_observations
),
read_bounds AS MATERIALIZED (
    SELECT
        product,
        driver_version,
        quantity AS bound,
        value,
        sum(observations)::BIGINT AS observations,
        -- One observation is enough to be more than a claim.
        all_true(is_claim) AS is_claim,
        string_agg(DISTINCT coalesce(source, 'not said'), ', ' ORDER BY coalesce(source, 'not said')) AS sources,
        arg_min({'id': capture_id, 'sha': capture_sha256, 'line': capture_line}, capture_id || lpad(capture_line::VARCHAR, 10, '0')) AS shown,
        array_to_string(list(DISTINCT evidence_text(capture_sha256, capture_line) ORDER BY evidence_text(capture_sha256, capture_line))[:5], ' ')
            AS evidence
    FROM seen_observations
    WHERE quantity <> 'core_margin_sum_c'
    GROUP BY product, driver_version, quantity, value
),
sums AS (
    SELECT
        product,
        driver_version,
        max(value) FILTER (is_settled) AS value,
        max(value) FILTER (is_settled) - min(value) FILTER (is_settled) AS spread_c,
        coalesce(sum(observations) FILTER (is_settled), 0)::BIGINT AS observations,
        list(DISTINCT value ORDER BY value) AS sums_seen_c
    FROM seen_observations
    WHERE quantity = 'core_margin_sum_c'
    GROUP BY product, driver_version
),
reference AS MATERIALIZED (
    SELECT
        sums.product,
        sums.driver_version,
        'core_reference_c' AS bound,
        sums.value,
        any_value(sums.spread_c) AS spread_c,
        any_value(sums.observations) AS observations,
        any_value(sums.sums_seen_c) AS sums_seen_c,
        all_true(seen.is_claim) AS is_claim,
        string_agg(DISTINCT coalesce(seen.source, 'not said'), ', ' ORDER BY coalesce(seen.source, 'not said')) AS sources,
        arg_min(
            {'id': seen.capture_id, 'sha': seen.capture_sha256, 'line': seen.capture_line},
            seen.capture_id || lpad(seen.capture_line::VARCHAR, 10, '0')
        ) AS shown,
        array_to_string(
            list(DISTINCT evidence_text(seen.capture_sha256, seen.capture_line) ORDER BY evidence_text(seen.capture_sha256, seen.capture_line))[:5],
            ' '
        ) AS evidence
    FROM sums
    INNER JOIN seen_observations AS seen
        ON
            sums.product = seen.product
            AND sums.driver_version = seen.driver_version
            AND seen.quantity = 'core_margin_sum_c'
            -- The greatest settled sum is the evidence; where none is settled, all that was seen.
            AND (sums.value IS NULL OR (seen.is_settled AND seen.value = sums.value))
    GROUP BY sums.product, sums.driver_version, sums.value
),
absolute AS (
    SELECT
        offsets.product,
        offsets.driver_version,
        replace(offsets.bound, '_offset_c', '_c') AS bound,
        reference.value - offsets.value AS value,
        offsets.observations,
        reference.is_claim OR offsets.is_claim AS is_claim,
        CASE
            WHEN offsets.sources = reference.sources THEN offsets.sources
            ELSE array_to_string(list_sort(list_distinct(string_split(offsets.sources || ', ' || reference.sources, ', '))), ', ')
        END AS sources,
        offsets.shown,
        offsets.evidence || ' ' || reference.evidence AS evidence,
        'reference ' || coalesce(number_text(reference.value) || ' C', 'unknown') || ' minus offset '
        || number_text(offsets.value) || ' C' AS derivation
    FROM read_bounds AS offsets
    INNER JOIN reference USING (product, driver_version)
    WHERE offsets.bound IN ('core_slowdown_offset_c', 'core_shutdown_offset_c')
),
pinned AS (
    SELECT
        decisions.product,
        decisions.driver_version,
        claims.name AS bound,
        claims.value_number AS value,
        count(DISTINCT decisions.decision_id) AS observations,
        string_agg(DISTINCT coalesce(captures.source, 'not said'), ', ' ORDER BY coalesce(captures.source, 'not said')) AS sources,
        arg_min({'id': claims.capture_id, 'sha': claims.capture_sha256, 'line': NULL::INTEGER}, claims.capture_id) AS shown,
        string_agg(DISTINCT claims.capture_sha256, ' ' ORDER BY claims.capture_sha256) AS evidence,
        'pinned by decision ' || string_agg(DISTINCT decisions.decision_id, ', ' ORDER BY decisions.decision_id) AS derivation
    FROM decisions
    INNER JOIN stg_decision_claims AS claims USING (capture_id, decision_id)
    INNER JOIN stg_captures AS captures USING (capture_id)
    WHERE decisions.is_in_force AND claims.claim_kind = 'bound' AND decisions.product IS NOT NULL
    GROUP BY decisions.product, decisions.driver_version, claims.name, claims.value_number
),
bounds AS (
    SELECT *, 'read' AS basis, 'as printed' AS derivation FROM read_bounds
    UNION ALL BY NAME
    SELECT
        *,
        'derived' AS basis,
        CASE
            WHEN value IS NULL THEN 'no settled row (power below 25 % of the limit and idle): core + T.Limit is too low under load'
            ELSE 'greatest core + T.Limit over ' || observations || ' settled reading' || CASE observations WHEN 1 THEN '' ELSE 's' END
        END AS derivation
    FROM reference
    UNION ALL BY NAME
    SELECT *, 'derived' AS basis FROM absolute
    UNION ALL BY NAME
    SELECT *, 'pinned' AS basis FROM pinned
)
SELECT
    product,
    driver_version,
    bound,
    value,
    CASE WHEN bound LIKE '%_mhz' THEN 'MHz' WHEN bound LIKE '%_w' THEN 'W' ELSE 'C' END AS unit,
    CASE
        WHEN bound LIKE '%_max_mhz' OR bound LIKE 'power_limit_%' THEN 'range'
        WHEN bound = 'core_slowdown_c' THEN 'activation'
        WHEN bound IN ('core_shutdown_c', 'core_reference_c') THEN 'admission'
        ELSE 'retained'
    END AS role,
    basis,
    derivation,
    observations,
    spread_c,
    sums_seen_c,
    is_claim,
    sources,
    shown.id AS capture_id,
    shown.sha AS capture_sha256,
    shown.line AS capture_line,
    evidence
FROM bounds
