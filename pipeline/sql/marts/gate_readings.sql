-- One row per reading of a case: what it is for, whether it is complete, and why a fallback is justified or not.
-- A reading at a lower rung of the ladder stands in for the first rung only when the first rung cannot hold: given up with no
-- accepted round, every rejection a busy sample off the lock, and the power cap seen at work in each. The first rung is looked
-- for in the same record, or else in records that the sidecars put into the same set.
--   role: gate (first rung of the ladder), fallback (a lower rung), ungated_default (no lock), experiment; NULL: the lock is not known.
--   fallback_of: The reading that it stands in for.
--   status: complete, incomplete, or not_measured (given up: more attempts rejected than rounds planned).
--   can_raise_power_limit: Whether the power limit could be set higher; NULL where a limit is not known.
--   campaign: Captures taken together, by host and set of the sidecars; without a set, the capture alone.
--   planned_rounds: Accepted rounds wanted.
--   rounds_accepted: Rounds that the harness accepted, as recorded.
--   rounds_rejected: Attempts that the harness rejected, as recorded.
--   rounds_counted: Accepted rounds in which the lock held throughout.
--   rounds_unverified: Accepted rounds that do not count only because something is not known of them.
--   rounds_not_counted: The accepted rounds that do not count.
--   rejected_baseline: Attempts rejected for the baseline.
--   rejected_candidate: Attempts rejected for the candidate.
--   rejected_unknown_side: Attempts with a reason whose side the record does not tell.
--   fallback_state: proven, unproven or NULL (no fallback).
--   fallback_reason: Why.
--   has_rejections_with_slowdown: Whether a thermal or hardware slowdown was seen at work in a rejected attempt.
--   power_limit_evidence: Why the power limit could or could not be raised.
--   off_lock_share_max: The largest share of busy time that may have been off the lock unseen, over the accepted runs (95 %).
--   runs_without_busy_sample: Runs of accepted rounds without any busy sample.
WITH
planned AS (
    SELECT
        readings.*,
        records.campaign,
        records.record_shape,
        records.order_design,
        coalesce(readings.planned_rounds, records.planned_rounds) AS planned,
        records.can_raise_power_limit,
        records.power_limit_w,
        records.power_default_limit_w,
        records.power_limit_max_w,
        string_split(policy.ladder, ' ') AS ladder
    FROM stg_gate_readings AS readings
    INNER JOIN stg_gate_records AS records USING (capture_id)
    CROSS JOIN gate_policy AS policy
),
rounds AS (
    -- The number of rounds is fixed beforehand: rounds beyond the plan are kept and not used, and a gap in the numbers is seen.
    SELECT
        capture_id,
        case_id,
        reading_id,
        count(DISTINCT round) FILTER (is_accepted AND round <= planned.planned) AS rounds_of_plan,
        count(*) AS attempts,
        max(attempt) AS last_attempt,
        count_if(is_accepted) AS rounds_accepted,
        count_if(NOT is_accepted) AS rounds_rejected,
        count_if(is_counted) AS rounds_counted,
        count_if(is_only_unverified) AS rounds_unverified,
        list(round ORDER BY round) FILTER (is_accepted AND NOT is_counted) AS rounds_not_counted,
        coalesce(bool_and(coalesce(is_off_lock_alone, false)) FILTER (NOT is_accepted), false) AS is_off_lock_alone,
        coalesce(bool_and(has_power_cap) FILTER (NOT is_accepted), false) AS is_capped_throughout,
        coalesce(bool_or(has_other_slowdown) FILTER (NOT is_accepted), false) AS has_other_slowdown
    FROM gate_rounds
    INNER JOIN planned USING (capture_id, case_id, reading_id)
    GROUP BY capture_id, case_id, reading_id
),
sides AS (
    SELECT
        capture_id,
        case_id,
        reading_id,
        count(DISTINCT attempt) FILTER (side = 'baseline') AS rejected_baseline,
        count(DISTINCT attempt) FILTER (side = 'candidate') AS rejected_candidate,
        count(DISTINCT attempt) FILTER (side IS NULL) AS rejected_unknown_side
    FROM stg_gate_rejections
    GROUP BY capture_id, case_id, reading_id
),
power AS (
    -- Monitor power over the accepted rounds.
    SELECT
        capture_id,
        case_id,
        reading_id,
        max(CASE WHEN busy_samples = 0 THEN 1.0 ELSE off_lock_share_max END) AS off_lock_share_max,
        count_if(busy_samples = 0) AS runs_without_busy_sample
    FROM gate_windows
    WHERE is_accepted AND lock_state <> 'not_applicable'
    GROUP BY capture_id, case_id, reading_id
),
readings AS (
    SELECT
        planned.*,
        coalesce(rounds.rounds_accepted, 0) AS rounds_accepted,
        coalesce(rounds.rounds_rejected, 0) AS rounds_rejected,
        coalesce(rounds.rounds_counted, 0) AS rounds_counted,
        coalesce(rounds.rounds_unverified, 0) AS rounds_unverified,
        rounds.rounds_not_counted,
        rounds.is_off_lock_alone,
        rounds.is_capped_throughout,
        coalesce(rounds.has_other_slowdown, false) AS has_other_slowdown,
        coalesce(rounds.last_attempt <> rounds.attempts, false) AS has_holes,
        CASE
            WHEN planned.lock_name = 'none' THEN 'ungated_default'
            WHEN planned.lock_name IS NULL THEN NULL
            WHEN planned.role = 'experiment' THEN 'experiment'
            WHEN planned.lock_name = planned.ladder[1] THEN 'gate'
            WHEN list_contains(planned.ladder, planned.lock_name) THEN 'fallback'
            ELSE 'experiment'
        END AS judged_role,
        CASE
            WHEN rounds.rounds_of_plan = planned.planned AND rounds.last_attempt = rounds.attempts THEN 'complete'
            WHEN rounds.rounds_rejected > planned.planned THEN 'not_measured'
            ELSE 'incomplete'
        END AS judged_status
    FROM planned
    LEFT JOIN rounds USING (capture_id, case_id, reading_id)
),
firsts AS (
    SELECT
        campaign,
        capture_id,
        case_id,
        reading_id,
        CASE
            WHEN judged_status <> 'not_measured' THEN 'FIRST_RUNG_NOT_GIVEN_UP'
            WHEN rounds_accepted > 0 THEN 'FIRST_RUNG_HELD_IN_SOME_ROUNDS'
            WHEN NOT is_off_lock_alone THEN 'REJECTED_FOR_OTHER_REASONS'
            WHEN has_holes THEN 'ATTEMPTS_MISSING'
            WHEN NOT is_capped_throughout THEN 'POWER_CAP_NOT_SEEN'
        END AS objection
    FROM readings
    WHERE judged_role = 'gate'
),
grounds AS (
    -- Of several first-rung readings each must be proven unable to hold.
    SELECT
        lower.capture_id,
        lower.case_id,
        lower.reading_id,
        count(firsts.reading_id) AS firsts,
        min(firsts.reading_id) AS fallback_of,
        min(firsts.objection) AS objection,
        min(firsts.capture_id) AS first_capture_id
    FROM readings AS lower
    LEFT JOIN firsts ON lower.campaign = firsts.campaign AND lower.case_id = firsts.case_id
    WHERE lower.judged_role = 'fallback'
    GROUP BY lower.capture_id, lower.case_id, lower.reading_id
)
SELECT
    readings.capture_id,
    readings.capture_sha256,
    readings.capture_pointer,
    readings.campaign,
    readings.record_shape,
    readings.case_id,
    readings.reading_id,
    readings.lock_name,
    readings.judged_role AS role,
    coalesce(readings.fallback_of, grounds.fallback_of) AS fallback_of,
    readings.judged_status AS status,
    readings.order_design,
    readings.planned AS planned_rounds,
    readings.rounds_accepted,
    readings.rounds_rejected,
    readings.rounds_counted,
    readings.rounds_unverified,
    readings.rounds_not_counted,
    coalesce(sides.rejected_baseline, 0) AS rejected_baseline,
    coalesce(sides.rejected_candidate, 0) AS rejected_candidate,
    coalesce(sides.rejected_unknown_side, 0) AS rejected_unknown_side,
    CASE
        WHEN readings.judged_role <> 'fallback' OR readings.judged_role IS NULL THEN NULL
        WHEN grounds.firsts > 0 AND grounds.objection IS NULL THEN 'proven'
        ELSE 'unproven'
    END AS fallback_state,
    CASE
        WHEN readings.judged_role <> 'fallback' OR readings.judged_role IS NULL THEN NULL
        WHEN grounds.firsts = 0 THEN 'FIRST_RUNG_NOT_IN_EVIDENCE'
        WHEN grounds.objection IS NULL THEN 'FIRST_RUNG_CANNOT_HOLD'
        ELSE grounds.objection
    END AS fallback_reason,
    readings.has_other_slowdown AS has_rejections_with_slowdown,
    readings.locked_sm_clock_mhz,
    readings.locked_memory_clock_mhz,
    readings.power_limit_w,
    readings.power_default_limit_w,
    readings.power_limit_max_w,
    readings.can_raise_power_limit,
    CASE
        WHEN readings.can_raise_power_limit IS NULL THEN 'not known'
        ELSE
            'limit ' || number_text(readings.power_limit_w) || ' W, default ' || number_text(readings.power_default_limit_w)
            || ' W, maximum ' || number_text(readings.power_limit_max_w) || ' W: '
            || CASE WHEN readings.can_raise_power_limit THEN 'could be raised' ELSE 'cannot be raised' END
    END AS power_limit_evidence,
    power.off_lock_share_max,
    coalesce(power.runs_without_busy_sample, 0) AS runs_without_busy_sample
FROM readings
LEFT JOIN grounds USING (capture_id, case_id, reading_id)
LEFT JOIN sides USING (capture_id, case_id, reading_id)
LEFT JOIN power USING (capture_id, case_id, reading_id)
