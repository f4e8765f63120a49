-- One row per GPU of a scenario and capability: whether its declared temperatures are admitted.
-- thermal_envelope: baseline and worst case at most the profile's reference (87 is admitted). gpu_fault_profile: exact driver with an
-- accepted profile, an HGX board, baseline at most the reference, and the declared worst case strictly below shutdown (94.9 is, 95.0 is not).
--   capability: thermal_envelope or gpu_fault_profile.
--   verdict: pass, fail or indeterminate.
--   reason_code: ADMITTED, BASELINE_ABOVE_REFERENCE, WORST_CASE_ABOVE_REFERENCE, WORST_CASE_NOT_BELOW_SHUTDOWN, NOT_HGX (fail);
--     SCENARIO_REFUSED, DRIVER_UNKNOWN, MODEL_UNKNOWN, PROFILE_MISSING, PROFILE_NOT_ACCEPTED, PROFILE_CONTRADICTED, PROFILE_INCOMPLETE, BOARD_UNKNOWN,
--     BASELINE_UNKNOWN, WORST_CASE_NOT_DECLARED (indeterminate).
--   driver_version: Driver of the demand, else of the topology.
--   baseline_c: Core temperature of the operating point.
--   worst_case_c: Greatest declared worst case of the GPU and its node.
--   fault: Fault of that worst case.
--   observed_c: Temperature that decides.
--   limit_c: Bound that it is held against.
--   rests_on_claim: Whether the profile rests on claims.
WITH
-- Two joins by equality: one over both kinds of target would pair every GPU with every fault.
targets AS (
    SELECT capture_id, scenario, position, 'gpu' AS target_kind, gpu_id AS target FROM stg_scenario_gpus
    UNION ALL
    SELECT capture_id, scenario, position, 'node' AS target_kind, node_id AS target FROM stg_scenario_gpus
),
worst AS (
    SELECT
        capture_id,
        scenario,
        position,
        max(core_temp_c) AS worst_case_c,
        arg_max(fault, core_temp_c) AS fault,
        count(*) > count(core_temp_c) AS has_unknown
    FROM targets
    INNER JOIN stg_scenario_faults USING (capture_id, scenario, target_kind, target)
    GROUP BY capture_id, scenario, position
),
joined AS (
    SELECT
        gpus.capture_id,
        gpus.capture_sha256,
        gpus.capture_pointer,
        gpus.scenario,
        gpus.position,
        gpus.node_id,
        gpus.gpu_id,
        gpus.model,
        gpus.product,
        coalesce(demands.driver_version, gpus.driver_version) AS driver_version,
        gpus.is_hgx,
        gpus.core_temp_c AS baseline_c,
        CASE WHEN NOT worst.has_unknown THEN worst.worst_case_c END AS worst_case_c,
        worst.fault,
        profiles.status AS profile_status,
        profiles.core_reference_c,
        profiles.core_shutdown_c,
        profiles.rests_on_claim,
        CASE
            WHEN refused.scenario IS NOT NULL THEN 'SCENARIO_REFUSED'
            ELSE profile_gap(gpus.product, coalesce(demands.driver_version, gpus.driver_version), profiles.status)
        END AS unsupported
    FROM stg_scenario_gpus AS gpus
    INNER JOIN clock_demands AS demands
        ON gpus.capture_id = demands.capture_id AND gpus.scenario = demands.scenario AND gpus.position = demands.position
    LEFT JOIN worst ON gpus.capture_id = worst.capture_id AND gpus.scenario = worst.scenario AND gpus.position = worst.position
    LEFT JOIN (SELECT DISTINCT capture_id, scenario FROM scenario_refusals) AS refused
        ON gpus.capture_id = refused.capture_id AND gpus.scenario = refused.scenario
    LEFT JOIN contract_profiles AS profiles
        ON
            gpus.product = profiles.product
            AND driver_number(coalesce(demands.driver_version, gpus.driver_version)) = profiles.driver_version
),
reasoned AS (
    SELECT
        *,
        'thermal_envelope' AS capability,
        CASE
            WHEN unsupported IS NOT NULL THEN unsupported
            WHEN core_reference_c IS NULL THEN 'PROFILE_INCOMPLETE'
            WHEN baseline_c > core_reference_c THEN 'BASELINE_ABOVE_REFERENCE'
            WHEN worst_case_c > core_reference_c THEN 'WORST_CASE_ABOVE_REFERENCE'
            WHEN baseline_c IS NULL THEN 'BASELINE_UNKNOWN'
            WHEN worst_case_c IS NULL THEN 'WORST_CASE_NOT_DECLARED'
            ELSE 'ADMITTED'
        END AS reason_code
    FROM joined
    UNION ALL BY NAME
    SELECT
        *,
        'gpu_fault_profile' AS capability,
        CASE
            WHEN is_hgx IS false AND unsupported IS DISTINCT FROM 'SCENARIO_REFUSED' THEN 'NOT_HGX'
            WHEN unsupported IS NOT NULL THEN unsupported
            WHEN core_reference_c IS NULL OR core_shutdown_c IS NULL THEN 'PROFILE_INCOMPLETE'
            WHEN baseline_c > core_reference_c THEN 'BASELINE_ABOVE_REFERENCE'
            WHEN worst_case_c >= core_shutdown_c THEN 'WORST_CASE_NOT_BELOW_SHUTDOWN'
            WHEN is_hgx IS NULL THEN 'BOARD_UNKNOWN'
            WHEN baseline_c IS NULL THEN 'BASELINE_UNKNOWN'
            WHEN worst_case_c IS NULL THEN 'WORST_CASE_NOT_DECLARED'
            ELSE 'ADMITTED'
        END AS reason_code
    FROM joined
)
SELECT
    scenario,
    position,
    node_id,
    gpu_id,
    model,
    product,
    driver_version,
    is_hgx,
    capability,
    CASE
        WHEN reason_code = 'ADMITTED' THEN 'pass'
        WHEN reason_code IN ('BASELINE_ABOVE_REFERENCE', 'WORST_CASE_ABOVE_REFERENCE', 'WORST_CASE_NOT_BELOW_SHUTDOWN', 'NOT_HGX') THEN 'fail'
        ELSE 'indeterminate'
    END AS verdict,
    reason_code,
    baseline_c,
    worst_case_c,
    fault,
    CASE
        WHEN reason_code = 'BASELINE_ABOVE_REFERENCE' THEN baseline_c
        WHEN reason_code IN ('WORST_CASE_ABOVE_REFERENCE', 'WORST_CASE_NOT_BELOW_SHUTDOWN') THEN worst_case_c
        WHEN reason_code = 'ADMITTED' AND capability = 'thermal_envelope' THEN greatest(baseline_c, worst_case_c)
        WHEN reason_code = 'ADMITTED' THEN worst_case_c
    END AS observed_c,
    CASE
        WHEN unsupported IS NOT NULL THEN NULL
        WHEN reason_code = 'BASELINE_ABOVE_REFERENCE' OR capability = 'thermal_envelope' THEN core_reference_c
        ELSE core_shutdown_c
    END AS limit_c,
    CASE WHEN unsupported IS NULL THEN rests_on_claim END AS rests_on_claim,
    capture_pointer,
    capture_id,
    capture_sha256
FROM reasoned
