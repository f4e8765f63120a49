-- One row per timed region, scope and accepted round of the plan: the times of both sides, paired within the round.
-- Several runs of a side within a round (A B B A) are one time, their geometric mean; sides with different numbers of runs
-- are no pair.
--   baseline_ms: Time of the baseline; NULL: not measured.
--   candidate_ms: Time of the candidate; NULL: not measured.
--   log_ratio: ln(candidate / baseline); NULL where a time is missing or not above zero.
--   is_counted: Whether the round counts: the lock held in every run of it.
WITH
sides AS (
    SELECT
        samples.capture_id,
        samples.capture_sha256,
        samples.case_id,
        samples.reading_id,
        samples.region,
        samples.scope,
        samples.attempt,
        count(*) FILTER (samples.side = 'baseline') AS baselines,
        count(*) FILTER (samples.side = 'candidate') AS candidates,
        count(samples.value_ms) FILTER (samples.side IS NOT NULL) AS known,
        max(samples.value_ms) FILTER (samples.side = 'baseline') AS baseline_max_ms,
        max(samples.value_ms) FILTER (samples.side = 'candidate') AS candidate_max_ms,
        min(samples.value_ms) FILTER (samples.side IS NOT NULL) AS least_ms,
        avg(ln(nullif(samples.value_ms, 0))) FILTER (samples.side = 'baseline') AS baseline_log,
        avg(ln(nullif(samples.value_ms, 0))) FILTER (samples.side = 'candidate') AS candidate_log
    FROM stg_gate_samples AS samples
    WHERE samples.round IS NOT NULL
    GROUP BY ALL
)
SELECT
    sides.capture_id,
    sides.capture_sha256,
    sides.case_id,
    sides.reading_id,
    sides.region,
    sides.scope,
    sides.attempt,
    rounds.round,
    CASE WHEN sides.baselines = 1 THEN sides.baseline_max_ms ELSE exp(sides.baseline_log) END AS baseline_ms,
    CASE WHEN sides.candidates = 1 THEN sides.candidate_max_ms ELSE exp(sides.candidate_log) END AS candidate_ms,
    CASE
        WHEN sides.baselines = sides.candidates AND sides.known = sides.baselines + sides.candidates AND sides.least_ms > 0
            THEN sides.candidate_log - sides.baseline_log
    END AS log_ratio,
    rounds.is_counted,
    rounds.is_only_unverified,
    rounds.lock_state,
    rounds.not_counted_because
FROM sides
INNER JOIN gate_rounds AS rounds USING (capture_id, case_id, reading_id, attempt)
INNER JOIN gate_readings AS readings USING (capture_id, case_id, reading_id)
WHERE rounds.is_accepted AND rounds.round <= coalesce(readings.planned_rounds, rounds.round)
