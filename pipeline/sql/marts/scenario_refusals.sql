-- One row per GPU and bound of its supported profile that a scenario breaks: the whole scenario is refused.
-- What a scenario breaks by itself is refused when it is read (source_errors); this needs the profile as well.
--   reason_code: REQUEST_ABOVE_PROFILE or BUDGET_OUTSIDE_PROFILE.
--   bound: Bound that is broken.
--   observed: What the scenario says.
--   required: What the profile says.
--   detail: The same in words.
WITH
checked AS (
    SELECT
        gpus.capture_id,
        gpus.capture_sha256,
        coalesce(demands.capture_pointer, gpus.capture_pointer) AS demand_pointer,
        gpus.capture_pointer AS gpu_pointer,
        gpus.scenario,
        gpus.position,
        gpus.gpu_id,
        gpus.product,
        demands.driver_version,
        demands.requested_sm_clock_mhz,
        demands.requested_memory_clock_mhz,
        gpus.power_budget_w,
        profiles.sm_clock_max_mhz,
        profiles.memory_clock_max_mhz,
        profiles.power_limit_min_w,
        profiles.power_limit_max_w
    FROM stg_scenario_gpus AS gpus
    INNER JOIN clock_demands AS demands
        ON gpus.capture_id = demands.capture_id AND gpus.scenario = demands.scenario AND gpus.position = demands.position
    INNER JOIN contract_profiles AS profiles
        ON gpus.product = profiles.product AND driver_number(demands.driver_version) = profiles.driver_version
    WHERE profiles.status = 'accepted'
),
broken AS (
    SELECT *, demand_pointer AS capture_pointer, 'REQUEST_ABOVE_PROFILE' AS reason_code, 'sm_clock_max_mhz' AS bound,
        requested_sm_clock_mhz AS observed, sm_clock_max_mhz AS required,
        'requested SM clock ' || number_text(observed) || ' MHz is above the profile''s ' || number_text(required) || ' MHz' AS detail
    FROM checked WHERE requested_sm_clock_mhz > sm_clock_max_mhz
    UNION ALL BY NAME
    SELECT *, demand_pointer AS capture_pointer, 'REQUEST_ABOVE_PROFILE' AS reason_code, 'memory_clock_max_mhz' AS bound,
        requested_memory_clock_mhz AS observed, memory_clock_max_mhz AS required,
        'requested memory clock ' || number_text(observed) || ' MHz is above the profile''s ' || number_text(required) || ' MHz' AS detail
    FROM checked WHERE requested_memory_clock_mhz > memory_clock_max_mhz
    UNION ALL BY NAME
    SELECT *, gpu_pointer AS capture_pointer, 'BUDGET_OUTSIDE_PROFILE' AS reason_code, 'power_limit_min_w' AS bound,
        power_budget_w AS observed, power_limit_min_w AS required,
        'power budget ' || number_text(observed) || ' W is below the profile''s ' || number_text(required) || ' W' AS detail
    FROM checked WHERE power_budget_w < power_limit_min_w
    UNION ALL BY NAME
    SELECT *, gpu_pointer AS capture_pointer, 'BUDGET_OUTSIDE_PROFILE' AS reason_code, 'power_limit_max_w' AS bound,
        power_budget_w AS observed, power_limit_max_w AS required,
        'power budget ' || number_text(observed) || ' W is above the profile''s ' || number_text(required) || ' W' AS detail
    FROM checked WHERE power_budget_w > power_limit_max_w
)
SELECT
    scenario,
    position,
    gpu_id,
    product,
    driver_version,
    reason_code,
    bound,
    observed,
    required,
    'GPU ' || gpu_id || ' (' || capture_pointer || '): ' || detail || ' (' || product || ', driver ' || driver_version || ')' AS detail,
    capture_pointer,
    capture_id,
    capture_sha256
FROM broken
