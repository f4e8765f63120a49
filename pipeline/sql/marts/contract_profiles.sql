-- One row per product and exact driver version that evidence or a decision in force is about.
-- A profile is supported only when it is accepted: by one decision in force that the evidence does not contradict.
--   status: accepted, candidate (derived from captures, nobody accepted it) or contradicted.
--   reason_code: ACCEPTED, NO_DECISION, SEVERAL_DECISIONS, or that of the first contradiction.
--   contract: Contract of the decision.
--   revision: Its revision.
--   decision_id: The decision that accepts it.
--   core_slowdown_c: Above this core temperature a thermal cap acts.
--   core_shutdown_c: Retained, and the bound of fault admission; it activates nothing.
--   core_reference_c: Maximum operating reference: the bound of admission; it activates nothing.
--   core_reference_spread_c: Spread of core + T.Limit over the settled rows; NULL without one.
--   settled_observations: Settled readings that the reference was taken from.
--   sums_seen_c: Every core + T.Limit seen, settled or not.
--   core_slowdown_offset_c: Slowdown on the T.Limit scale, as printed.
--   core_shutdown_offset_c: Shutdown on the T.Limit scale, as printed.
--   core_max_operating_c: Maximum operating temperature, where it is printed as a temperature.
--   hbm_limit_c: Limit of the memory temperature, only where it is printed as a temperature; offsets establish none.
--   rests_on_claim: Whether a bound stands on nothing but claims (a pinned bound: no capture of another class confirms it).
--   contradictions: Number of contradictions (profile_contradictions names both sides).
--   evidence: Evidence of its bounds, as SHA:LINE.
WITH
-- Each is read several times: computed once.
all_bounds AS MATERIALIZED (
    FROM profile_bounds
),
all_decisions AS MATERIALIZED (
    FROM decisions
),
subjects AS (
    SELECT product, driver_version FROM all_bounds
    UNION
    SELECT product, driver_version FROM all_decisions
    WHERE is_in_force AND product IS NOT NULL AND driver_version IS NOT NULL
),
accepted AS (
    SELECT
        product,
        driver_version,
        count(DISTINCT decision_id) AS decisions,
        min(decision_id) AS decision_id,
        min(contract) AS contract,
        min(revision) AS revision
    FROM all_decisions
    WHERE is_in_force
    GROUP BY product, driver_version
),
-- The value of a bound: what was accepted, else what is printed, else what follows from it.
chosen AS (
    SELECT
        product,
        driver_version,
        bound,
        -- Two values of one basis contradict each other: neither is chosen.
        CASE WHEN count(DISTINCT value) = 1 THEN min(value) END AS value
    FROM all_bounds
    WHERE value IS NOT NULL
    GROUP BY product, driver_version, bound, basis
    QUALIFY row_number() OVER (
        PARTITION BY product, driver_version, bound ORDER BY CASE basis WHEN 'pinned' THEN 1 WHEN 'read' THEN 2 ELSE 3 END
    ) = 1
),
claimed AS (
    -- A bound is more than a claim when an observation shows its value (for the reference: a settled sum within 1 C).
    SELECT
        chosen.product,
        chosen.driver_version,
        chosen.bound,
        all_true(found.bound IS NULL OR found.is_claim) AS is_claim
    FROM chosen
    LEFT JOIN all_bounds AS found
        ON
            chosen.product = found.product
            AND chosen.driver_version = found.driver_version
            AND chosen.bound = found.bound
            AND found.basis <> 'pinned'
            AND abs(found.value - chosen.value) <= CASE found.basis WHEN 'derived' THEN 1 ELSE 0 END
    GROUP BY ALL
),
resting AS (
    SELECT product, driver_version, any_true(is_claim) AS rests_on_claim FROM claimed GROUP BY product, driver_version
),
wide AS (
    SELECT
        product,
        driver_version,
        min(value) FILTER (bound = 'sm_clock_max_mhz') AS sm_clock_max_mhz,
        min(value) FILTER (bound = 'memory_clock_max_mhz') AS memory_clock_max_mhz,
        min(value) FILTER (bound = 'power_limit_min_w') AS power_limit_min_w,
        min(value) FILTER (bound = 'power_limit_max_w') AS power_limit_max_w,
        min(value) FILTER (bound = 'core_slowdown_c') AS core_slowdown_c,
        min(value) FILTER (bound = 'core_shutdown_c') AS core_shutdown_c,
        min(value) FILTER (bound = 'core_reference_c') AS core_reference_c,
        min(value) FILTER (bound = 'core_slowdown_offset_c') AS core_slowdown_offset_c,
        min(value) FILTER (bound = 'core_shutdown_offset_c') AS core_shutdown_offset_c,
        min(value) FILTER (bound = 'core_max_operating_c') AS core_max_operating_c,
        min(value) FILTER (bound = 'hbm_limit_c') AS hbm_limit_c
    FROM chosen
    GROUP BY product, driver_version
),
reference AS (
    SELECT
        product,
        driver_version,
        any_value(spread_c) AS core_reference_spread_c,
        any_value(CASE WHEN value IS NOT NULL THEN observations ELSE 0 END) AS settled_observations,
        any_value(sums_seen_c) AS sums_seen_c
    FROM all_bounds
    WHERE bound = 'core_reference_c' AND basis = 'derived'
    GROUP BY product, driver_version
),
contradictions AS (
    SELECT product, driver_version, count(*) AS contradictions, min(reason_code) AS reason_code
    FROM profile_contradictions
    GROUP BY product, driver_version
),
evidence AS (
    SELECT
        product,
        driver_version,
        array_to_string(list_sort(list_distinct(string_split(string_agg(evidence, ' '), ' '))), ' ') AS evidence
    FROM all_bounds
    GROUP BY product, driver_version
)
SELECT
    subjects.product,
    subjects.driver_version,
    CASE
        WHEN contradictions.contradictions > 0 OR accepted.decisions > 1 THEN 'contradicted'
        WHEN accepted.decisions = 1 THEN 'accepted'
        ELSE 'candidate'
    END AS status,
    CASE
        WHEN accepted.decisions > 1 THEN 'SEVERAL_DECISIONS'
        WHEN contradictions.contradictions > 0 THEN contradictions.reason_code
        WHEN accepted.decisions = 1 THEN 'ACCEPTED'
        ELSE 'NO_DECISION'
    END AS reason_code,
    CASE WHEN accepted.decisions = 1 THEN accepted.contract END AS contract,
    CASE WHEN accepted.decisions = 1 THEN accepted.revision END AS revision,
    CASE WHEN accepted.decisions = 1 THEN accepted.decision_id END AS decision_id,
    wide.* EXCLUDE (product, driver_version),
    reference.core_reference_spread_c,
    coalesce(reference.settled_observations, 0) AS settled_observations,
    reference.sums_seen_c,
    resting.rests_on_claim,
    coalesce(contradictions.contradictions, 0) AS contradictions,
    evidence.evidence
FROM subjects
LEFT JOIN accepted USING (product, driver_version)
LEFT JOIN wide USING (product, driver_version)
LEFT JOIN reference USING (product, driver_version)
LEFT JOIN resting USING (product, driver_version)
LEFT JOIN contradictions USING (product, driver_version)
LEFT JOIN evidence USING (product, driver_version)
