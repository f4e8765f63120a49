-- One row per GPU of a scenario, in physical order: which limiter lowers its clocks, and to what.
-- The thermal limiter acts above the profile's slowdown temperature (not at it) when a thermal cap lowers a requested clock; the
-- power limiter acts when demand is above the budget (not at it) and a power cap lowers one. Both can act. Nothing else does: no
-- cap alone, no equality, no loss, neither the reference nor the shutdown temperature. Requests and caps are an operator's
-- assumptions, not a vendor's response. Unknown is not inactive: what cannot be evaluated has no achieved clocks.
--   driver_version: The exact driver that the demand is for.
--   has_profile: Whether an accepted contract profile holds for product and exact driver.
--   profile_status: Status of the profile, if there is one: accepted, candidate or contradicted.
--   power_demand_w: Unconstrained power demand.
--   core_slowdown_c: The profile's activation temperature.
--   is_thermal_limited: Whether the thermal limiter is active; NULL when it cannot be told.
--   is_power_limited: Whether the power limiter is active; NULL when it cannot be told.
--   limiter_state: active, inactive or not_evaluated.
--   achieved_sm_clock_mhz: Least of the request and the caps of the active limiters; NULL when not evaluated.
--   achieved_memory_clock_mhz: The same for the memory clock.
--   reason_code: THERMAL, POWER, THERMAL_AND_POWER, WITHIN_LIMITS; or why it is not evaluated: SCENARIO_REFUSED, DEMAND_NOT_DECLARED,
--     MODEL_UNKNOWN, DRIVER_UNKNOWN, PROFILE_MISSING, PROFILE_NOT_ACCEPTED, PROFILE_CONTRADICTED, GPU_UNAVAILABLE, AVAILABILITY_UNKNOWN,
--     PROFILE_INCOMPLETE, REQUEST_UNKNOWN, CAP_UNKNOWN, CORE_TEMP_UNKNOWN, POWER_BUDGET_UNKNOWN, DEMAND_UNKNOWN.
--   reason: The same in words.
--   rests_on_claim: Whether the profile rests on claims.
--   decision_id: The decision that accepts the profile; contract_profiles and profile_bounds have its evidence.
WITH
refused AS (
    SELECT capture_id, scenario, count(*) AS refusals, arg_min(detail, position) AS detail
    FROM scenario_refusals
    GROUP BY capture_id, scenario
),
joined AS (
    SELECT
        points.capture_id,
        points.capture_sha256,
        coalesce(demands.capture_pointer, points.capture_pointer) AS capture_pointer,
        points.scenario,
        points.position,
        points.node_id,
        points.gpu_id,
        points.observed_at,
        points.model,
        points.product,
        demands.driver_version,
        demands.demand_basis,
        profiles.status AS profile_status,
        profile_gap(points.product, demands.driver_version, profiles.status) AS gap,
        coalesce(profiles.status = 'accepted', false) AS has_profile,
        points.is_available,
        demands.requested_sm_clock_mhz,
        demands.requested_memory_clock_mhz,
        demands.thermal_cap_sm_clock_mhz,
        demands.thermal_cap_memory_clock_mhz,
        demands.power_cap_sm_clock_mhz,
        demands.power_cap_memory_clock_mhz,
        demands.power_demand_w,
        points.power_budget_w,
        points.core_temp_c,
        CASE WHEN profiles.status = 'accepted' THEN profiles.core_slowdown_c END AS core_slowdown_c,
        profiles.sm_clock_max_mhz IS NOT NULL
        AND profiles.memory_clock_max_mhz IS NOT NULL
        AND profiles.power_limit_min_w IS NOT NULL
        AND profiles.power_limit_max_w IS NOT NULL AS has_ranges,
        CASE WHEN profiles.status = 'accepted' THEN profiles.rests_on_claim END AS rests_on_claim,
        CASE WHEN profiles.status = 'accepted' THEN profiles.decision_id END AS decision_id,
        refused.refusals,
        refused.detail AS refusal
    FROM operating_points AS points
    INNER JOIN clock_demands AS demands
        ON points.capture_id = demands.capture_id AND points.scenario = demands.scenario AND points.position = demands.position
    LEFT JOIN contract_profiles AS profiles
        ON points.product = profiles.product AND driver_number(demands.driver_version) = profiles.driver_version
    LEFT JOIN refused ON points.capture_id = refused.capture_id AND points.scenario = refused.scenario
),
reducing AS (
    SELECT
        *,
        lowers_a_clock(
            thermal_cap_sm_clock_mhz, thermal_cap_memory_clock_mhz, requested_sm_clock_mhz, requested_memory_clock_mhz
        ) AS has_thermal_cut,
        lowers_a_clock(power_cap_sm_clock_mhz, power_cap_memory_clock_mhz, requested_sm_clock_mhz, requested_memory_clock_mhz)
            AS has_power_cut,
        -- Why nothing is evaluated here, whatever the values are.
        CASE
            WHEN refusals > 0 THEN 'SCENARIO_REFUSED'
            WHEN demand_basis IS NULL THEN 'DEMAND_NOT_DECLARED'
            WHEN gap IS NOT NULL THEN gap
            WHEN is_available IS false THEN 'GPU_UNAVAILABLE'
            WHEN is_available IS NULL THEN 'AVAILABILITY_UNKNOWN'
        END AS closed
    FROM joined
),
flagged AS (
    SELECT
        *,
        CASE WHEN closed = 'AVAILABILITY_UNKNOWN' THEN NULL WHEN closed IS NOT NULL THEN false ELSE core_temp_c > core_slowdown_c AND has_thermal_cut END
            AS is_thermal_limited,
        CASE WHEN closed = 'AVAILABILITY_UNKNOWN' THEN NULL WHEN closed IS NOT NULL THEN false ELSE power_demand_w > power_budget_w AND has_power_cut END
            AS is_power_limited
    FROM reducing
),
judged AS (
    SELECT
        *,
        CASE
            WHEN closed IS NOT NULL THEN closed
            WHEN requested_sm_clock_mhz IS NULL OR requested_memory_clock_mhz IS NULL THEN 'REQUEST_UNKNOWN'
            WHEN has_thermal_cut IS NULL OR has_power_cut IS NULL THEN 'CAP_UNKNOWN'
            -- Without them it is not known whether request and budget fit the profile at all.
            WHEN NOT has_ranges OR core_slowdown_c IS NULL THEN 'PROFILE_INCOMPLETE'
            WHEN power_budget_w IS NULL THEN 'POWER_BUDGET_UNKNOWN'
            WHEN is_thermal_limited IS NULL THEN 'CORE_TEMP_UNKNOWN'
            WHEN is_power_limited IS NULL THEN 'DEMAND_UNKNOWN'
            WHEN is_thermal_limited AND is_power_limited THEN 'THERMAL_AND_POWER'
            WHEN is_thermal_limited THEN 'THERMAL'
            WHEN is_power_limited THEN 'POWER'
            ELSE 'WITHIN_LIMITS'
        END AS reason_code
    FROM flagged
),
stated AS (
    SELECT
        *,
        CASE
            WHEN reason_code IN ('THERMAL', 'POWER', 'THERMAL_AND_POWER') THEN 'active'
            WHEN reason_code = 'WITHIN_LIMITS' THEN 'inactive'
            ELSE 'not_evaluated'
        END AS limiter_state,
        -- The two halves of the sentence: what was compared.
        CASE
            WHEN core_temp_c IS NULL THEN 'core temperature is not known, but no thermal cap lowers a clock'
            WHEN core_temp_c > core_slowdown_c
                THEN 'core ' || number_text(core_temp_c) || ' C is above ' || number_text(core_slowdown_c) || ' C, '
                || CASE WHEN has_thermal_cut THEN 'and the thermal cap lowers a clock' ELSE 'but no thermal cap lowers a clock' END
            ELSE 'core ' || number_text(core_temp_c) || ' C is not above ' || number_text(core_slowdown_c) || ' C'
        END AS thermal_words,
        CASE
            WHEN power_demand_w IS NULL THEN 'power demand is not known, but no power cap lowers a clock'
            WHEN power_demand_w > power_budget_w
                THEN 'demand ' || number_text(power_demand_w) || ' W is above ' || number_text(power_budget_w) || ' W, '
                || CASE WHEN has_power_cut THEN 'and the power cap lowers a clock' ELSE 'but no power cap lowers a clock' END
            ELSE 'demand ' || number_text(power_demand_w) || ' W is not above ' || number_text(power_budget_w) || ' W'
        END AS power_words
    FROM judged
)
SELECT
    scenario,
    position,
    node_id,
    gpu_id,
    observed_at,
    model,
    product,
    driver_version,
    has_profile,
    profile_status,
    is_available,
    requested_sm_clock_mhz,
    requested_memory_clock_mhz,
    thermal_cap_sm_clock_mhz,
    thermal_cap_memory_clock_mhz,
    power_cap_sm_clock_mhz,
    power_cap_memory_clock_mhz,
    power_demand_w,
    power_budget_w,
    core_temp_c,
    core_slowdown_c,
    is_thermal_limited,
    is_power_limited,
    limiter_state,
    CASE
        WHEN limiter_state <> 'not_evaluated' THEN least(
            requested_sm_clock_mhz,
            CASE WHEN is_thermal_limited THEN thermal_cap_sm_clock_mhz END,
            CASE WHEN is_power_limited THEN power_cap_sm_clock_mhz END
        )
    END AS achieved_sm_clock_mhz,
    CASE
        WHEN limiter_state <> 'not_evaluated' THEN least(
            requested_memory_clock_mhz,
            CASE WHEN is_thermal_limited THEN thermal_cap_memory_clock_mhz END,
            CASE WHEN is_power_limited THEN power_cap_memory_clock_mhz END
        )
    END AS achieved_memory_clock_mhz,
    reason_code,
    CASE reason_code
        WHEN 'SCENARIO_REFUSED' THEN 'the scenario is refused: ' || refusal
        WHEN 'DEMAND_NOT_DECLARED' THEN 'no demand is declared for this GPU'
        WHEN 'MODEL_UNKNOWN' THEN 'model ' || coalesce(model, 'unknown') || ' is not a known product'
        WHEN 'DRIVER_UNKNOWN' THEN 'the demand names no driver version'
        WHEN 'PROFILE_MISSING' THEN 'no contract profile for ' || product || ' with driver ' || driver_version
        WHEN 'PROFILE_NOT_ACCEPTED' THEN 'the profile of ' || product || ' with driver ' || driver_version || ' is a candidate: nobody accepted it'
        WHEN 'PROFILE_CONTRADICTED' THEN 'the profile of ' || product || ' with driver ' || driver_version || ' is contradicted'
        WHEN 'GPU_UNAVAILABLE' THEN 'the GPU is not available'
        WHEN 'AVAILABILITY_UNKNOWN' THEN 'it is not known whether the GPU is available'
        WHEN 'PROFILE_INCOMPLETE' THEN 'the profile lacks a bound that is needed'
        WHEN 'REQUEST_UNKNOWN' THEN 'the requested clocks are not known'
        WHEN 'CAP_UNKNOWN' THEN 'a cap is known for one of its clocks only'
        WHEN 'POWER_BUDGET_UNKNOWN' THEN 'the power budget is not known'
        WHEN 'CORE_TEMP_UNKNOWN' THEN 'the core temperature is not known, and a thermal cap lowers a clock'
        WHEN 'DEMAND_UNKNOWN' THEN 'the power demand is not known, and a power cap lowers a clock'
        WHEN 'THERMAL' THEN thermal_words
        WHEN 'POWER' THEN power_words
        ELSE thermal_words || '; ' || power_words
    END AS reason,
    rests_on_claim,
    decision_id,
    capture_pointer,
    capture_id,
    capture_sha256
FROM stated
