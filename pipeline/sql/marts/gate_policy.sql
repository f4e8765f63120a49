-- One row: the gate policy in force.
-- It is the one given to the command, or else the only one captured, or else the built-in default; what a policy leaves out
-- is the default's. Captured policies of different content are none in force: the default is shown, and nothing is decided.
--   policy: Name of the policy in force; default: the built-in one.
--   is_ambiguous: Whether several policies are captured and none was chosen.
--   evidence: The policy as `gpu-evidence show` takes it; NULL: built in.
WITH
contents AS (
    SELECT *, count(*) OVER () AS contents
    FROM (SELECT DISTINCT ON (policy_sha256) * FROM stg_gate_policies ORDER BY policy_sha256, capture_id)
),
only_one AS (SELECT * FROM contents WHERE contents = 1),
several AS (SELECT count(*) > 1 AS is_ambiguous FROM contents)
SELECT
    coalesce(chosen.policy, 'default') AS policy,
    several.is_ambiguous,
    coalesce(chosen.mode, 'strict') AS mode,
    coalesce(chosen.alpha, 0.05::DOUBLE) AS alpha,
    coalesce(chosen.margin_compute, 1.05::DOUBLE) AS margin_compute,
    coalesce(chosen.margin_end_to_end, 1.10::DOUBLE) AS margin_end_to_end,
    coalesce(chosen.margin_short, 1.10::DOUBLE) AS margin_short,
    coalesce(chosen.short_below_ms, 10.0::DOUBLE) AS short_below_ms,
    coalesce(chosen.short_min_rounds, 20) AS short_min_rounds,
    coalesce(chosen.min_rounds, 0) AS min_rounds,
    coalesce(chosen.sm_clock_tolerance_mhz, 0) AS sm_clock_tolerance_mhz,
    coalesce(chosen.memory_clock_tolerance_mhz, 0) AS memory_clock_tolerance_mhz,
    coalesce(chosen.busy_above_pct, 0.0::DOUBLE) AS busy_above_pct,
    coalesce(chosen.min_busy_samples, 3) AS min_busy_samples,
    coalesce(chosen.gap_max_periods, 3.0::DOUBLE) AS gap_max_periods,
    coalesce(chosen.criteria, 'counters dropped_lines gap') AS criteria,
    coalesce(chosen.foreign_cpu_limit_cores, 2.0::DOUBLE) AS foreign_cpu_limit_cores,
    coalesce(chosen.power_at_limit_w, 5.0::DOUBLE) AS power_at_limit_w,
    coalesce(chosen.ladder, 'boost base') AS ladder,
    chosen.capture_sha256 AS evidence
FROM several
LEFT JOIN only_one AS chosen ON true
