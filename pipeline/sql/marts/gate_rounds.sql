-- One row per attempt at a round: accepted or rejected whole, and kept with its reasons.
-- Acceptance is the harness's, as recorded. A round counts only when it was accepted, every run of it is undisturbed and the
-- lock held in every run: so nothing that is not known makes a round count.
--   is_accepted: Whether the harness accepted the round, as recorded.
--   lock_state: held, broken, unverified or not_applicable, over all runs of the attempt.
--   lock_reason: The first reason for which the lock is not known to have held.
--   is_counted: Whether the round is accepted, undisturbed, and the lock held throughout (or none was set).
--   not_counted_because: Why an accepted round does not count.
--   is_only_unverified: Whether an accepted round does not count only because something is not known of it.
--   reject_reasons: Codes of the reasons for which it was rejected, parted by blanks.
--   reason_count: Lines of reasons.
--   reasons: The reasons in the record's words.
--   is_off_lock_alone: Whether every reason of the rejection is a busy sample off the lock.
--   has_power_cap: Whether the power cap was seen at work in one of its runs.
--   has_other_slowdown: Whether a thermal or hardware slowdown was seen at work in one of its runs.
WITH
runs AS (
    SELECT
        capture_id,
        case_id,
        reading_id,
        attempt,
        count(*) AS runs,
        bool_or(lock_state = 'broken') AS is_broken,
        bool_or(lock_state = 'unverified') AS is_unverified,
        bool_or(lock_state = 'held') AS is_held,
        coalesce(
            arg_min(lock_reason, capture_pointer) FILTER (lock_state = 'broken'),
            arg_min(lock_reason, capture_pointer) FILTER (lock_state = 'unverified')
        ) AS lock_reason,
        count_if(side = 'baseline') AS baseline_runs,
        count_if(side = 'candidate') AS candidate_runs,
        count(DISTINCT scope) FILTER (side = 'candidate') AS candidate_scopes,
        bool_or(is_disturbed) AS is_disturbed,
        count(*) > count(is_disturbed) AS has_unknown_disturbance,
        coalesce(
            min(disturbance) FILTER (is_disturbed),
            min(disturbance) FILTER (is_disturbed IS NULL)
        ) AS disturbance,
        bool_or(has_power_cap) AS has_power_cap,
        bool_or(has_other_slowdown) AS has_other_slowdown
    FROM gate_windows
    GROUP BY capture_id, case_id, reading_id, attempt
),
rejections AS (
    SELECT
        capture_id,
        case_id,
        reading_id,
        attempt,
        string_agg(DISTINCT code, ' ' ORDER BY code) AS reject_reasons,
        count(*) AS reason_count,
        list(reason_text ORDER BY capture_pointer) FILTER (reason_text IS NOT NULL) AS reasons,
        bool_and(code = 'off_lock') AS is_off_lock_alone
    FROM stg_gate_rejections
    GROUP BY capture_id, case_id, reading_id, attempt
),
expected AS (
    -- Every scope that is timed must have been watched: a run that is left out must not make a round count.
    SELECT capture_id, case_id, reading_id, count(DISTINCT scope) AS scopes
    FROM stg_gate_regions
    GROUP BY capture_id, case_id, reading_id
),
judged AS (
    SELECT
        rounds.*,
        readings.lock_name,
        CASE
            WHEN runs.is_broken THEN 'broken'
            WHEN readings.lock_name = 'none' THEN 'not_applicable'
            WHEN runs.runs IS NULL OR runs.is_unverified OR runs.baseline_runs = 0 OR runs.candidate_runs = 0 THEN 'unverified'
            WHEN runs.candidate_scopes < expected.scopes THEN 'unverified'
            ELSE 'held'
        END AS lock_state,
        CASE
            WHEN runs.runs IS NULL THEN 'NO_MONITOR_DATA'
            WHEN runs.lock_reason IS NOT NULL THEN runs.lock_reason
            WHEN readings.lock_name = 'none' THEN 'NO_LOCK_SET'
            WHEN runs.baseline_runs = 0 THEN 'NO_BASELINE_MONITOR_DATA'
            WHEN runs.candidate_runs = 0 THEN 'NO_CANDIDATE_MONITOR_DATA'
            WHEN runs.candidate_scopes < expected.scopes THEN 'SCOPE_WITHOUT_MONITOR_DATA'
            ELSE 'HELD'
        END AS lock_reason,
        runs.is_disturbed,
        runs.has_unknown_disturbance,
        runs.disturbance,
        coalesce(runs.has_power_cap, false) AS has_power_cap,
        coalesce(runs.has_other_slowdown, false) AS has_other_slowdown,
        rejections.reject_reasons,
        coalesce(rejections.reason_count, 0) AS reason_count,
        rejections.reasons,
        rejections.is_off_lock_alone
    FROM stg_gate_rounds AS rounds
    INNER JOIN stg_gate_readings AS readings USING (capture_id, case_id, reading_id)
    LEFT JOIN runs USING (capture_id, case_id, reading_id, attempt)
    LEFT JOIN rejections USING (capture_id, case_id, reading_id, attempt)
    LEFT JOIN expected USING (capture_id, case_id, reading_id)
),
counted AS (
    SELECT
        *,
        CASE
            WHEN NOT is_accepted THEN NULL
            WHEN lock_state = 'broken' THEN lock_reason
            WHEN is_disturbed THEN disturbance
            WHEN lock_state = 'unverified' THEN lock_reason
            WHEN has_unknown_disturbance AND lock_state = 'held' THEN disturbance
        END AS not_counted_because
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
    before_round,
    lock_name,
    is_accepted,
    reject_reasons,
    reason_count,
    reasons,
    lock_state,
    lock_reason,
    is_accepted AND not_counted_because IS NULL AS is_counted,
    not_counted_because,
    -- What is only unknown can be looked past by a lenient policy; what is known to be wrong cannot.
    is_accepted AND not_counted_because IS NOT NULL AND lock_state <> 'broken' AND is_disturbed IS NOT true AS is_only_unverified,
    is_off_lock_alone,
    has_power_cap,
    has_other_slowdown
FROM counted
