-- One row per statement of a record about itself that its own measurements contradict, or that they do not bear out.
--   quantity: What is stated.
--   asserted: What the record states.
--   computed: What its measurements give; NULL: nothing to compare with.
--   reason_code: DIFFERS, STANDS_ON_RUNS_WITHOUT_BUSY_SAMPLES (a clock that no busy sample showed) or NOT_VERIFIED (stated, and not
--     borne out by evidence).
--   detail: The same in words.
WITH
numbers AS (
    SELECT
        stated.capture_id,
        stated.capture_sha256,
        stated.capture_pointer,
        stated.case_id,
        stated.reading_id,
        stated.region,
        stated.side,
        stated.scope,
        stated.quantity,
        stated.value_number AS asserted,
        CASE stated.quantity
            WHEN 'ratio' THEN regions.ratio_of_medians
            WHEN 'baseline_ms' THEN regions.baseline_ms
            WHEN 'candidate_ms' THEN regions.candidate_ms
            WHEN 'baseline_spread' THEN regions.baseline_spread
            WHEN 'candidate_spread' THEN regions.candidate_spread
        END AS computed
    FROM stg_gate_assertions AS stated
    INNER JOIN gate_regions AS regions
        ON stated.capture_id = regions.capture_id AND stated.case_id = regions.case_id
        AND stated.reading_id = regions.reading_id AND stated.region = regions.region
        AND stated.scope IS NOT DISTINCT FROM regions.scope
    WHERE stated.quantity IN ('ratio', 'baseline_ms', 'candidate_ms', 'baseline_spread', 'candidate_spread')
    UNION ALL BY NAME
    SELECT
        stated.capture_id,
        stated.capture_sha256,
        stated.capture_pointer,
        stated.case_id,
        stated.reading_id,
        stated.side,
        stated.scope,
        stated.quantity,
        stated.value_number AS asserted,
        CASE stated.quantity
            WHEN 'busy_samples' THEN clocks.busy_samples
            WHEN 'rounds_with_busy_samples' THEN clocks.windows_with_busy_samples
        END AS computed
    FROM stg_gate_assertions AS stated
    INNER JOIN gate_clocks AS clocks
        ON stated.capture_id = clocks.capture_id AND stated.case_id = clocks.case_id AND stated.reading_id = clocks.reading_id
        AND stated.side IS NOT DISTINCT FROM clocks.side AND stated.scope IS NOT DISTINCT FROM clocks.scope
    WHERE stated.quantity IN ('busy_samples', 'rounds_with_busy_samples')
    UNION ALL BY NAME
    SELECT
        stated.capture_id,
        stated.capture_sha256,
        stated.capture_pointer,
        stated.case_id,
        stated.reading_id,
        stated.quantity,
        stated.value_number AS asserted,
        readings.rounds_accepted AS computed
    FROM stg_gate_assertions AS stated
    INNER JOIN gate_readings AS readings USING (capture_id, case_id, reading_id)
    WHERE stated.quantity = 'rounds_accepted' AND stated.region IS NULL AND readings.order_design IS DISTINCT FROM 'unpaired'
),
differing AS (
    -- Records are written with all digits: what differs by more than rounding was computed from something else.
    SELECT
        *,
        'DIFFERS' AS reason_code,
        quantity || ' is stated as ' || number_text(asserted) || ', the measurements give ' || number_text(computed) AS detail
    FROM numbers
    WHERE abs(asserted - computed) > 1e-9 * greatest(abs(asserted), abs(computed))
),
clocks AS (
    SELECT
        stated.capture_id,
        stated.capture_sha256,
        stated.capture_pointer,
        stated.case_id,
        stated.reading_id,
        stated.side,
        stated.scope,
        stated.quantity,
        stated.value_number AS asserted,
        coalesce(clocks.sm_clock_busy_min_mhz, clocks.sm_clock_min_mhz)::DOUBLE AS computed,
        CASE clocks.asserted_stands_on
            WHEN 'runs_without_busy_samples' THEN 'STANDS_ON_RUNS_WITHOUT_BUSY_SAMPLES'
            ELSE 'DIFFERS'
        END AS reason_code,
        CASE clocks.asserted_stands_on
            WHEN 'runs_without_busy_samples' THEN
                'the lowest SM clock is stated as ' || number_text(stated.value_number)
                || ' MHz, which comes from runs without any busy sample; under load it was '
                || coalesce(number_text(clocks.sm_clock_busy_min_mhz) || ' MHz', 'not seen')
            ELSE
                'the lowest SM clock is stated as ' || number_text(stated.value_number) || ' MHz, the samples give '
                || coalesce(number_text(clocks.sm_clock_busy_min_mhz) || ' MHz under load', 'none under load')
        END AS detail
    FROM stg_gate_assertions AS stated
    INNER JOIN gate_clocks AS clocks
        ON stated.capture_id = clocks.capture_id AND stated.case_id = clocks.case_id AND stated.reading_id = clocks.reading_id
        AND stated.side IS NOT DISTINCT FROM clocks.side AND stated.scope IS NOT DISTINCT FROM clocks.scope
    WHERE stated.quantity = 'sm_clock_min_mhz' AND clocks.asserted_stands_on IN ('runs_without_busy_samples', 'contradicted')
),
flags AS (
    SELECT
        stated.capture_id,
        stated.capture_sha256,
        stated.capture_pointer,
        stated.case_id,
        stated.reading_id,
        stated.region,
        stated.scope,
        stated.quantity,
        stated.value_text AS asserted,
        CASE stated.quantity
            WHEN 'within_gate' THEN CASE
                WHEN regions.ratio_of_medians <= margins.margin THEN 'true' WHEN regions.ratio_of_medians > margins.margin THEN 'false'
            END
            WHEN 'noisy' THEN CASE
                WHEN greatest(regions.baseline_spread, regions.candidate_spread) > 0.10 THEN 'true'
                WHEN greatest(regions.baseline_spread, regions.candidate_spread) <= 0.10 THEN 'false'
            END
        END AS computed
    FROM stg_gate_assertions AS stated
    INNER JOIN gate_regions AS regions
        ON stated.capture_id = regions.capture_id AND stated.case_id = regions.case_id
        AND stated.reading_id = regions.reading_id AND stated.region = regions.region
        AND stated.scope IS NOT DISTINCT FROM regions.scope
    LEFT JOIN (
        -- The margin that the record itself applied.
        SELECT capture_id, case_id, reading_id, region, scope, any_value(value_number) AS margin
        FROM stg_gate_assertions
        WHERE quantity = 'margin'
        GROUP BY ALL
    ) AS margins
        ON stated.capture_id = margins.capture_id AND stated.case_id = margins.case_id
        AND stated.reading_id = margins.reading_id AND stated.region = margins.region
        AND stated.scope IS NOT DISTINCT FROM margins.scope
    WHERE stated.quantity IN ('within_gate', 'noisy')
),
locks AS (
    SELECT
        stated.capture_id,
        stated.capture_sha256,
        stated.capture_pointer,
        stated.case_id,
        stated.reading_id,
        stated.quantity,
        stated.value_text AS asserted,
        readings.rounds_counted || ' of ' || readings.rounds_accepted || ' rounds' AS computed,
        'NOT_VERIFIED' AS reason_code,
        'that the lock held in every round is stated, and verified in ' || readings.rounds_counted || ' of '
        || readings.rounds_accepted || ' rounds'
        || CASE WHEN readings.lock_name = 'none' THEN '; no lock was set' ELSE '' END AS detail
    FROM stg_gate_assertions AS stated
    INNER JOIN gate_readings AS readings USING (capture_id, case_id, reading_id)
    WHERE
        stated.quantity = 'clocks_locked_in_every_round' AND stated.value_text = 'true'
        AND (readings.rounds_counted < readings.rounds_accepted OR readings.lock_name = 'none')
)
SELECT * REPLACE (number_text(asserted) AS asserted, number_text(computed) AS computed) FROM differing
UNION ALL BY NAME
SELECT * REPLACE (number_text(asserted) AS asserted, number_text(computed) AS computed) FROM clocks
UNION ALL BY NAME
SELECT
    *,
    'DIFFERS' AS reason_code,
    quantity || ' is stated as ' || asserted || ', the measurements give ' || computed AS detail
FROM flags
WHERE asserted <> computed
UNION ALL BY NAME
SELECT * FROM locks
