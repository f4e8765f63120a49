-- One row per GPU of a scenario, in physical order: its operating point, as constraints never change it.
-- Draw is bounded by the budget, and a declared loss from cooling or congestion takes its share of what is above idle:
-- draw = min(budget, idle + (demand - idle) x (1 - loss)). Without a loss the idle floor is not needed.
--   allocation_provenance: Where the share comes from.
--   power_demand_w: Demand that the draw follows: the declared or projected one, else that of the pool's operating model.
--   power_draw_w: Power drawn under budget and loss; NULL where it does not follow.
--   idle_power_w: Idle floor of the demand or of the pool's operating model.
--   reason_code: Why power_draw_w is NULL: GPU_UNAVAILABLE, AVAILABILITY_UNKNOWN, POWER_BUDGET_UNKNOWN, DEMAND_UNKNOWN, LOSS_UNKNOWN, IDLE_POWER_UNKNOWN.
WITH
models AS (
    SELECT *
    FROM stg_scenario_demands
    WHERE target_kind = 'pool_operating'
    QUALIFY count(*) OVER (PARTITION BY capture_id, scenario, target) = 1
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
        scenarios.observed_at,
        gpus.model,
        gpus.product,
        gpus.pool,
        gpus.is_available,
        gpus.share,
        scenarios.allocation_provenance,
        gpus.power_budget_w,
        gpus.core_temp_c,
        gpus.loss,
        gpus.loss_cause,
        coalesce(demands.idle_power_w, models.idle_power_w) AS idle_power_w,
        CASE
            WHEN demands.demand_basis IS NOT NULL THEN demands.power_demand_w
            ELSE models.idle_power_w + gpus.share * (models.full_demand_power_w - models.idle_power_w)
        END AS power_demand_w
    FROM stg_scenario_gpus AS gpus
    INNER JOIN clock_demands AS demands
        ON gpus.capture_id = demands.capture_id AND gpus.scenario = demands.scenario AND gpus.position = demands.position
    LEFT JOIN stg_scenarios AS scenarios ON gpus.capture_id = scenarios.capture_id AND gpus.scenario = scenarios.scenario
    LEFT JOIN models ON gpus.capture_id = models.capture_id AND gpus.scenario = models.scenario AND gpus.pool = models.target
),
drawn AS (
    SELECT
        *,
        CASE
            WHEN is_available IS NOT true OR power_budget_w IS NULL OR power_demand_w IS NULL OR loss IS NULL THEN NULL
            WHEN loss = 0 THEN least(power_budget_w, power_demand_w)
            WHEN idle_power_w IS NULL THEN NULL
            ELSE least(power_budget_w, idle_power_w + (power_demand_w - idle_power_w) * (1 - loss))
        END AS power_draw_w
    FROM joined
)
SELECT
    *,
    CASE
        WHEN power_draw_w IS NOT NULL THEN NULL
        WHEN is_available IS false THEN 'GPU_UNAVAILABLE'
        WHEN is_available IS NULL THEN 'AVAILABILITY_UNKNOWN'
        WHEN power_budget_w IS NULL THEN 'POWER_BUDGET_UNKNOWN'
        WHEN power_demand_w IS NULL THEN 'DEMAND_UNKNOWN'
        WHEN loss IS NULL THEN 'LOSS_UNKNOWN'
        ELSE 'IDLE_POWER_UNKNOWN'
    END AS reason_code
FROM drawn
