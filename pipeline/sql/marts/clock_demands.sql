-- One row per GPU of a scenario, in physical order: what its demand is, and from what it follows.
-- A pool's demand is projected from the shared allocation: idle + share x (full' - idle), where a power constraint of an
-- intensity raises full to full' = full + intensity x (fault - full). Demand may exceed the budget; no loss reduces it.
--   demand_basis: explicit (declared for the GPU) or pool (projected from operating.constraints); NULL: none is declared.
--   driver_version: The exact driver that the demand is for.
--   intensity: Greatest intensity of the power constraints on the GPU or its node; 0 without one.
--   raised_demand_power_w: full', the demand at a share of 1 with the incidents.
--   power_demand_w: Unconstrained power demand.
--   reason_code: Why power_demand_w is NULL: DEMAND_NOT_DECLARED, SHARE_UNKNOWN, PROJECTION_INCOMPLETE, INCIDENT_WITHOUT_FAULT_DEMAND,
--     or DEMAND_UNKNOWN; NULL when it is known.
WITH
hits AS (
    SELECT capture_id, scenario, target_kind, target, max(intensity) AS intensity
    FROM stg_scenario_incidents
    WHERE incident = 'gpu_power_constraint'
    GROUP BY capture_id, scenario, target_kind, target
),
demands AS (
    -- A demand that is declared twice is none: the parser refuses it, and neither is chosen here.
    SELECT *
    FROM stg_scenario_demands
    WHERE target_kind IN ('gpu', 'pool')
    QUALIFY count(*) OVER (PARTITION BY capture_id, scenario, target_kind, target) = 1
),
asked AS (
    SELECT
        gpus.capture_id,
        gpus.capture_sha256,
        gpus.scenario,
        gpus.position,
        gpus.node_id,
        gpus.gpu_id,
        gpus.pool,
        gpus.share,
        CASE WHEN own.target IS NOT NULL THEN own ELSE shared END AS asked,
        coalesce(greatest(on_gpu.intensity, on_node.intensity), 0) AS intensity
    FROM stg_scenario_gpus AS gpus
    LEFT JOIN demands AS own
        ON gpus.capture_id = own.capture_id AND gpus.scenario = own.scenario AND own.target_kind = 'gpu' AND gpus.gpu_id = own.target
    LEFT JOIN demands AS shared
        ON
            gpus.capture_id = shared.capture_id
            AND gpus.scenario = shared.scenario
            AND shared.target_kind = 'pool'
            AND gpus.pool = shared.target
    LEFT JOIN hits AS on_gpu
        ON gpus.capture_id = on_gpu.capture_id AND gpus.scenario = on_gpu.scenario AND on_gpu.target_kind = 'gpu' AND gpus.gpu_id = on_gpu.target
    LEFT JOIN hits AS on_node
        ON
            gpus.capture_id = on_node.capture_id
            AND gpus.scenario = on_node.scenario
            AND on_node.target_kind = 'node'
            AND gpus.node_id = on_node.target
),
joined AS (
    SELECT
        * EXCLUDE (asked),
        CASE asked.target_kind WHEN 'gpu' THEN 'explicit' ELSE asked.target_kind END AS demand_basis,
        asked.capture_pointer,
        asked.driver_version,
        asked.requested_sm_clock_mhz,
        asked.requested_memory_clock_mhz,
        asked.thermal_cap_sm_clock_mhz,
        asked.thermal_cap_memory_clock_mhz,
        asked.power_cap_sm_clock_mhz,
        asked.power_cap_memory_clock_mhz,
        asked.idle_power_w,
        asked.full_demand_power_w,
        asked.power_fault_demand_w,
        asked.power_demand_w AS declared_demand_w
    FROM asked
),
raised AS (
    SELECT
        *,
        CASE
            WHEN demand_basis = 'pool' AND intensity > 0
                THEN full_demand_power_w + intensity * (power_fault_demand_w - full_demand_power_w)
            WHEN demand_basis = 'pool' THEN full_demand_power_w
        END AS raised_demand_power_w
    FROM joined
),
projected AS (
    SELECT
        *,
        CASE demand_basis
            WHEN 'explicit' THEN declared_demand_w
            WHEN 'pool' THEN idle_power_w + share * (raised_demand_power_w - idle_power_w)
        END AS power_demand_w
    FROM raised
)
SELECT
    * EXCLUDE (declared_demand_w),
    CASE
        WHEN power_demand_w IS NOT NULL THEN NULL
        WHEN demand_basis IS NULL THEN 'DEMAND_NOT_DECLARED'
        WHEN demand_basis = 'explicit' THEN 'DEMAND_UNKNOWN'
        WHEN share IS NULL THEN 'SHARE_UNKNOWN'
        WHEN intensity > 0 AND power_fault_demand_w IS NULL THEN 'INCIDENT_WITHOUT_FAULT_DEMAND'
        ELSE 'PROJECTION_INCOMPLETE'
    END AS reason_code
FROM projected
