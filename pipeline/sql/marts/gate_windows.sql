-- One row per run of one side (and scope) within an attempt, and whether the clock lock held in it.
-- Where the record points to a monitor log, samples, clocks, gaps and dropped lines are computed from the log. Only positive
-- evidence makes a lock held; zero busy samples never do. What a record says of its own lock decides nothing.
--   is_accepted: Whether the harness accepted the round, as recorded.
--   round: Number of the accepted round; NULL for a rejected attempt.
--   basis: log: computed from the samples of a monitor log; summary: the record's own summary of its samples.
--   lock_state: held, broken, unverified or not_applicable (no lock was set).
--   lock_reason: Why it is so.
--   unchecked: Criteria that did not decide, since this format cannot carry them or the policy does not ask for them.
--   off_lock_share_max: With so many busy samples and none off the lock, at most this share of busy time was off it (95 %).
--   has_power_cap: Whether the power cap was seen at work: reason bit, counter, or a draw at a limit that cannot be raised.
--   has_other_slowdown: Whether a thermal or hardware slowdown was seen at work.
--   is_disturbed: Whether a foreign process, foreign load or a failed program spoils the run; NULL: not known.
--   disturbance: What spoils it, or what is not known of it.
WITH
runs AS (
    SELECT
        windows.*,
        rounds.round,
        rounds.is_accepted,
        readings.lock_name,
        readings.locked_sm_clock_mhz,
        readings.locked_memory_clock_mhz,
        records.record_shape = 'gpu_evidence_1' AS carries_all,
        records.monitor_period_ms,
        records.gpu_uuid,
        records.gpu_index,
        records.power_limit_w,
        records.can_raise_power_limit
    FROM stg_gate_windows AS windows
    INNER JOIN stg_gate_records AS records USING (capture_id)
    INNER JOIN stg_gate_readings AS readings USING (capture_id, case_id, reading_id)
    LEFT JOIN stg_gate_rounds AS rounds USING (capture_id, case_id, reading_id, attempt)
),
logs AS (
    -- The same log captured twice is one log.
    SELECT capture_sha256, min(capture_id) AS capture_id
    FROM stg_gpu_readings
    WHERE capture_sha256 IN (SELECT samples_sha256 FROM runs)
    GROUP BY capture_sha256
),
lines AS (
    SELECT
        runs.capture_id,
        runs.capture_pointer,
        readings.capture_line,
        coalesce(readings.gpu_uuid, readings.pci_bus_id, readings.gpu_index::VARCHAR, '') AS gpu,
        CASE
            WHEN runs.gpu_uuid IS NOT NULL AND readings.gpu_uuid IS NOT NULL THEN runs.gpu_uuid = readings.gpu_uuid
            WHEN runs.gpu_index IS NOT NULL AND readings.gpu_index IS NOT NULL THEN runs.gpu_index = readings.gpu_index
        END AS is_its_gpu,
        readings.gpu_utilization_pct > policy.busy_above_pct AS is_busy,
        readings.sm_clock_mhz,
        readings.memory_clock_mhz,
        readings.power_draw_w,
        readings.clocks_event_reasons,
        readings.observed_local
    FROM runs
    INNER JOIN logs ON runs.samples_sha256 = logs.capture_sha256
    INNER JOIN stg_gpu_readings AS readings
        ON logs.capture_id = readings.capture_id
        AND readings.capture_line BETWEEN runs.samples_first_line AND runs.samples_last_line
    CROSS JOIN gate_policy AS policy
),
gaps AS (
    SELECT
        *,
        epoch_ms(observed_local)
        - lag(epoch_ms(observed_local)) OVER (PARTITION BY capture_id, capture_pointer, gpu ORDER BY capture_line) AS gap_ms
    FROM lines
),
seen AS (
    SELECT
        capture_id,
        capture_pointer,
        count(*) FILTER (is_its_gpu IS NOT false) AS samples,
        count(DISTINCT capture_line) AS lines_read,
        -- Lines of several GPUs, and nothing says which one it was.
        count(DISTINCT gpu) FILTER (is_its_gpu IS NOT false) > 1 AS is_ambiguous,
        count(*) FILTER (is_its_gpu IS NOT false AND is_busy) AS busy_samples,
        bool_or(is_busy IS NULL OR (is_busy AND sm_clock_mhz IS NULL)) FILTER (is_its_gpu IS NOT false) AS has_unknown,
        bool_or(is_busy AND memory_clock_mhz IS NULL) FILTER (is_its_gpu IS NOT false) AS has_unknown_memory,
        min(sm_clock_mhz) FILTER (is_its_gpu IS NOT false) AS sm_clock_min_mhz,
        max(sm_clock_mhz) FILTER (is_its_gpu IS NOT false) AS sm_clock_max_mhz,
        min(sm_clock_mhz) FILTER (is_its_gpu IS NOT false AND is_busy) AS sm_clock_busy_min_mhz,
        max(sm_clock_mhz) FILTER (is_its_gpu IS NOT false AND is_busy) AS sm_clock_busy_max_mhz,
        median(sm_clock_mhz) FILTER (is_its_gpu IS NOT false AND is_busy) AS sm_clock_busy_median_mhz,
        min(memory_clock_mhz) FILTER (is_its_gpu IS NOT false AND is_busy) AS memory_clock_busy_min_mhz,
        max(memory_clock_mhz) FILTER (is_its_gpu IS NOT false AND is_busy) AS memory_clock_busy_max_mhz,
        max(power_draw_w) FILTER (is_its_gpu IS NOT false) AS power_draw_max_w,
        bit_or(clocks_event_reasons) FILTER (is_its_gpu IS NOT false AND is_busy) AS clocks_event_reasons,
        max(gap_ms) FILTER (is_its_gpu IS NOT false)::DOUBLE AS gap_max_ms,
        bool_or(observed_local IS NULL) FILTER (is_its_gpu IS NOT false) AS has_unknown_time
    FROM gaps
    GROUP BY capture_id, capture_pointer
),
merged AS (
    SELECT
        runs.* REPLACE (
            CASE WHEN seen.samples IS NOT NULL THEN seen.samples ELSE runs.samples END AS samples,
            CASE
                WHEN seen.has_unknown THEN NULL
                WHEN seen.busy_samples IS NOT NULL THEN seen.busy_samples
                ELSE runs.busy_samples
            END AS busy_samples,
            CASE
                WHEN seen.lines_read IS NOT NULL THEN runs.samples_last_line - runs.samples_first_line + 1 - seen.lines_read
                ELSE runs.dropped_lines
            END AS dropped_lines,
            CASE
                WHEN seen.has_unknown_time THEN NULL
                WHEN seen.samples IS NOT NULL THEN coalesce(seen.gap_max_ms, 0)
                ELSE runs.gap_max_ms
            END AS gap_max_ms,
            coalesce(seen.sm_clock_min_mhz, runs.sm_clock_min_mhz) AS sm_clock_min_mhz,
            coalesce(seen.sm_clock_max_mhz, runs.sm_clock_max_mhz) AS sm_clock_max_mhz,
            coalesce(seen.sm_clock_busy_min_mhz, runs.sm_clock_busy_min_mhz) AS sm_clock_busy_min_mhz,
            coalesce(seen.sm_clock_busy_max_mhz, runs.sm_clock_busy_max_mhz) AS sm_clock_busy_max_mhz,
            coalesce(seen.sm_clock_busy_median_mhz, runs.sm_clock_busy_median_mhz) AS sm_clock_busy_median_mhz,
            CASE
                WHEN seen.has_unknown_memory THEN NULL
                ELSE coalesce(seen.memory_clock_busy_min_mhz, runs.memory_clock_busy_min_mhz)
            END AS memory_clock_busy_min_mhz,
            CASE
                WHEN seen.has_unknown_memory THEN NULL
                ELSE coalesce(seen.memory_clock_busy_max_mhz, runs.memory_clock_busy_max_mhz)
            END AS memory_clock_busy_max_mhz,
            coalesce(seen.power_draw_max_w, runs.power_draw_max_w) AS power_draw_max_w,
            CASE
                WHEN seen.clocks_event_reasons IS NOT NULL AND runs.clocks_event_reasons IS NOT NULL
                    THEN seen.clocks_event_reasons | runs.clocks_event_reasons
                ELSE coalesce(seen.clocks_event_reasons, runs.clocks_event_reasons)
            END AS clocks_event_reasons
        ),
        seen.samples IS NOT NULL AS has_log,
        coalesce(seen.is_ambiguous, false) AS is_ambiguous,
        -- The record's own summary may have seen what the log does not show.
        runs.sm_clock_busy_min_mhz AS told_sm_min,
        runs.sm_clock_busy_max_mhz AS told_sm_max,
        runs.memory_clock_busy_min_mhz AS told_memory_min,
        runs.memory_clock_busy_max_mhz AS told_memory_max
    FROM runs
    LEFT JOIN seen USING (capture_id, capture_pointer)
),
judged AS (
    SELECT
        merged.*,
        policy.min_busy_samples,
        policy.criteria,
        policy.gap_max_periods,
        least(merged.sm_clock_busy_min_mhz, merged.told_sm_min) < merged.locked_sm_clock_mhz - policy.sm_clock_tolerance_mhz
        OR greatest(merged.sm_clock_busy_max_mhz, merged.told_sm_max) > merged.locked_sm_clock_mhz + policy.sm_clock_tolerance_mhz AS is_sm_off,
        least(merged.memory_clock_busy_min_mhz, merged.told_memory_min)
        < merged.locked_memory_clock_mhz - policy.memory_clock_tolerance_mhz
        OR greatest(merged.memory_clock_busy_max_mhz, merged.told_memory_max)
        > merged.locked_memory_clock_mhz + policy.memory_clock_tolerance_mhz AS is_memory_off,
        coalesce(merged.sw_power_cap_us > 0, false) OR coalesce(merged.clocks_event_reasons & 4 <> 0, false) AS is_capped,
        -- hardware slowdown 8, software thermal 32, hardware thermal 64, power brake 128
        coalesce(merged.sw_thermal_slowdown_us > 0, false) OR coalesce(merged.hw_thermal_slowdown_us > 0, false)
        OR coalesce(merged.hw_power_brake_us > 0, false) OR coalesce(merged.clocks_event_reasons & 232 <> 0, false) AS has_other_slowdown,
        merged.sw_power_cap_us IS NOT NULL AND merged.sw_thermal_slowdown_us IS NOT NULL
        AND merged.hw_thermal_slowdown_us IS NOT NULL AND merged.hw_power_brake_us IS NOT NULL AS has_counters,
        merged.power_draw_max_w >= merged.power_limit_w - policy.power_at_limit_w AND merged.can_raise_power_limit IS false AS is_at_limit,
        CASE
            WHEN merged.exit_code <> 0 THEN 'PROCESS_FAILED'
            WHEN merged.foreign_gpu_processes > 0 THEN 'FOREIGN_GPU_PROCESS'
            WHEN merged.foreign_cpu_cores > policy.foreign_cpu_limit_cores THEN 'FOREIGN_CPU'
        END AS spoiled,
        CASE
            WHEN merged.foreign_gpu_processes IS NULL THEN 'FOREIGN_PROCESSES_UNKNOWN'
            WHEN merged.foreign_cpu_cores IS NULL THEN 'FOREIGN_CPU_UNKNOWN'
            WHEN merged.exit_code IS NULL AND merged.carries_all THEN 'EXIT_CODE_UNKNOWN'
        END AS unknown
    FROM merged
    CROSS JOIN gate_policy AS policy
),
reasoned AS (
    SELECT
        *,
        CASE
            WHEN lock_name = 'none' THEN 'NO_LOCK_SET'
            WHEN is_sm_off OR is_memory_off THEN 'BUSY_SAMPLE_OFF_LOCK'
            WHEN is_capped THEN 'POWER_CAP_AT_WORK'
            WHEN has_other_slowdown THEN 'SLOWDOWN_AT_WORK'
            WHEN busy_samples = 0 THEN 'NO_BUSY_SAMPLE'
            WHEN lock_name IS NULL THEN 'LOCK_UNKNOWN'
            WHEN locked_sm_clock_mhz IS NULL OR locked_memory_clock_mhz IS NULL THEN 'LOCK_CLOCKS_UNKNOWN'
            WHEN samples_sha256 IS NOT NULL AND NOT has_log THEN 'SAMPLES_NOT_IN_EVIDENCE'
            WHEN is_ambiguous THEN 'GPU_AMBIGUOUS'
            WHEN busy_samples IS NULL THEN 'BUSY_SAMPLES_UNKNOWN'
            WHEN sm_clock_busy_min_mhz IS NULL OR sm_clock_busy_max_mhz IS NULL THEN 'SM_CLOCK_UNKNOWN'
            WHEN memory_clock_busy_min_mhz IS NULL OR memory_clock_busy_max_mhz IS NULL THEN 'MEMORY_CLOCK_UNKNOWN'
            WHEN asks(criteria, 'dropped_lines') AND dropped_lines > 0 THEN 'LINES_DROPPED'
            WHEN asks(criteria, 'gap') AND gap_max_ms > gap_max_periods * monitor_period_ms THEN 'MONITOR_GAP'
            WHEN carries_all AND asks(criteria, 'dropped_lines') AND dropped_lines IS NULL THEN 'DROPPED_LINES_UNKNOWN'
            WHEN carries_all AND asks(criteria, 'gap') AND (gap_max_ms IS NULL OR monitor_period_ms IS NULL) THEN 'GAP_UNKNOWN'
            WHEN carries_all AND asks(criteria, 'counters') AND NOT has_counters THEN 'COUNTERS_UNKNOWN'
            WHEN busy_samples < min_busy_samples AND NOT has_counters THEN 'TOO_FEW_BUSY_SAMPLES'
            WHEN busy_samples < min_busy_samples THEN 'HELD_BY_COUNTERS'
            ELSE 'HELD'
        END AS lock_reason
    FROM judged
)
SELECT
    capture_id,
    capture_sha256,
    capture_pointer,
    case_id,
    reading_id,
    attempt,
    round,
    side,
    scope,
    slot,
    is_accepted,
    lock_name,
    CASE WHEN has_log THEN 'log' ELSE 'summary' END AS basis,
    samples,
    busy_samples,
    dropped_lines,
    gap_max_ms,
    sm_clock_min_mhz,
    sm_clock_max_mhz,
    sm_clock_busy_min_mhz,
    sm_clock_busy_median_mhz,
    sm_clock_busy_max_mhz,
    memory_clock_busy_min_mhz,
    memory_clock_busy_max_mhz,
    locked_sm_clock_mhz,
    locked_memory_clock_mhz,
    power_draw_max_w,
    CASE
        WHEN lock_reason = 'NO_LOCK_SET' THEN 'not_applicable'
        WHEN lock_reason IN ('BUSY_SAMPLE_OFF_LOCK', 'POWER_CAP_AT_WORK', 'SLOWDOWN_AT_WORK') THEN 'broken'
        WHEN lock_reason IN ('HELD', 'HELD_BY_COUNTERS') THEN 'held'
        ELSE 'unverified'
    END AS lock_state,
    lock_reason,
    nullif(concat_ws(
        ' ',
        CASE WHEN NOT has_counters THEN 'counters' END,
        CASE WHEN dropped_lines IS NULL OR NOT asks(criteria, 'dropped_lines') THEN 'dropped_lines' END,
        CASE WHEN gap_max_ms IS NULL OR monitor_period_ms IS NULL OR NOT asks(criteria, 'gap') THEN 'gap' END
    ), '') AS unchecked,
    CASE WHEN busy_samples > 0 AND lock_reason NOT IN ('BUSY_SAMPLE_OFF_LOCK', 'NO_LOCK_SET') THEN 1 - pow(0.05, 1.0 / busy_samples) END
        AS off_lock_share_max,
    is_capped OR coalesce(is_at_limit, false) AS has_power_cap,
    has_other_slowdown,
    is_lock_asserted,
    CASE WHEN spoiled IS NOT NULL THEN true WHEN unknown IS NULL THEN false END AS is_disturbed,
    coalesce(spoiled, unknown) AS disturbance,
    wall_s,
    foreign_cpu_cores,
    foreign_gpu_processes
FROM reasoned
