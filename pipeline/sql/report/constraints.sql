-- Scenario section: limiters by GPU, in physical order. Of a large scenario what is limited or not evaluated comes first, up to 200 GPUs.
SELECT
    constraints.scenario,
    constraints.position,
    constraints.node_id,
    constraints.gpu_id,
    constraints.model,
    constraints.driver_version,
    constraints.core_temp_c,
    constraints.power_demand_w,
    constraints.power_budget_w,
    points.power_draw_w,
    points.reason_code AS why_draw,
    constraints.is_thermal_limited,
    constraints.is_power_limited,
    constraints.limiter_state,
    constraints.reason_code,
    constraints.reason,
    constraints.requested_sm_clock_mhz,
    constraints.achieved_sm_clock_mhz,
    constraints.requested_memory_clock_mhz,
    constraints.achieved_memory_clock_mhz,
    constraints.has_profile,
    constraints.rests_on_claim,
    captures.source,
    captures.is_simulated,
    count(*) OVER (PARTITION BY constraints.capture_id, constraints.scenario) AS gpus,
    constraints.capture_id,
    constraints.capture_sha256,
    NULL::INTEGER AS capture_line
FROM clock_constraints AS constraints
INNER JOIN operating_points AS points USING (capture_id, scenario, position)
INNER JOIN captures USING (capture_id)
QUALIFY
    bool_or(constraints.reason_code <> 'DEMAND_NOT_DECLARED') OVER (PARTITION BY constraints.capture_id, constraints.scenario)
    AND row_number() OVER (
        PARTITION BY constraints.capture_id, constraints.scenario
        ORDER BY CASE constraints.limiter_state WHEN 'inactive' THEN 2 ELSE 1 END, constraints.position
    ) <= 200
ORDER BY constraints.scenario, constraints.capture_id, constraints.position
