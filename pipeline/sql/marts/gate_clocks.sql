-- One row per reading, side and scope: busy samples and lowest SM clocks over the accepted rounds, kept apart by what they stand on.
-- A summary that gives clocks of busy samples alone does not tell the lowest of any sample: then that is NULL.
--   windows: Runs in accepted rounds.
--   windows_with_busy_samples: Runs with at least one busy sample.
--   busy_samples: Busy samples over all these runs; NULL where one is not known.
--   sm_clock_busy_min_mhz: Lowest SM clock of a busy sample.
--   sm_clock_min_mhz: Lowest SM clock of any sample; NULL where it is not known of some run.
--   sm_clock_idle_runs_min_mhz: Lowest SM clock in runs without any busy sample: not seen under load.
--   asserted_sm_clock_min_mhz: Lowest SM clock that the record states.
--   asserted_stands_on: What the stated clock is: busy_samples, runs_without_busy_samples, any_sample, or contradicted; NULL: nothing
--     is stated.
--   off_lock_share_max: The largest share of busy time that may have been off the lock unseen in one of the runs (95 %).
WITH
seen AS (
    SELECT
        capture_id,
        capture_sha256,
        case_id,
        reading_id,
        side,
        scope,
        count(*) AS windows,
        count_if(busy_samples > 0) AS windows_with_busy_samples,
        CASE WHEN count(*) = count(busy_samples) THEN sum(busy_samples)::BIGINT END AS busy_samples,
        min(sm_clock_busy_min_mhz) AS sm_clock_busy_min_mhz,
        CASE WHEN count(*) = count(sm_clock_min_mhz) THEN min(sm_clock_min_mhz) END AS sm_clock_min_mhz,
        min(sm_clock_min_mhz) FILTER (busy_samples = 0) AS sm_clock_idle_runs_min_mhz,
        max(CASE WHEN busy_samples = 0 THEN 1.0 ELSE off_lock_share_max END) AS off_lock_share_max
    FROM gate_windows
    WHERE is_accepted
    GROUP BY capture_id, capture_sha256, case_id, reading_id, side, scope
),
asserted AS (
    SELECT capture_id, case_id, reading_id, side, scope, any_value(value_number) AS asserted_sm_clock_min_mhz
    FROM stg_gate_assertions
    WHERE quantity = 'sm_clock_min_mhz'
    GROUP BY capture_id, case_id, reading_id, side, scope
)
SELECT
    seen.capture_id,
    seen.capture_sha256,
    seen.case_id,
    seen.reading_id,
    seen.side,
    seen.scope,
    seen.windows,
    seen.windows_with_busy_samples,
    seen.busy_samples,
    seen.sm_clock_busy_min_mhz,
    seen.sm_clock_min_mhz,
    seen.sm_clock_idle_runs_min_mhz,
    asserted.asserted_sm_clock_min_mhz,
    CASE
        WHEN asserted.asserted_sm_clock_min_mhz = seen.sm_clock_busy_min_mhz THEN 'busy_samples'
        WHEN asserted.asserted_sm_clock_min_mhz = seen.sm_clock_idle_runs_min_mhz THEN 'runs_without_busy_samples'
        WHEN asserted.asserted_sm_clock_min_mhz = seen.sm_clock_min_mhz THEN 'any_sample'
        WHEN asserted.asserted_sm_clock_min_mhz IS NOT NULL THEN 'contradicted'
    END AS asserted_stands_on,
    seen.off_lock_share_max
FROM seen
LEFT JOIN asserted
    ON seen.capture_id = asserted.capture_id AND seen.case_id = asserted.case_id
    AND seen.reading_id = asserted.reading_id
    AND seen.side IS NOT DISTINCT FROM asserted.side AND seen.scope IS NOT DISTINCT FROM asserted.scope
