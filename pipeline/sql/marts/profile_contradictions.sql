-- One row per contradiction about a bound of a product and exact driver version, both sides named.
--   bound: The bound that the two sides disagree about.
--   reason_code: CAPTURES_DISAGREE (a bound that must be equal is not), EVIDENCE_CONTRADICTS_DECISION, DECISIONS_DISAGREE,
--     SCALES_DISAGREE (absolute thresholds and offsets from one capture) or THRESHOLDS_OUT_OF_ORDER.
--   one: One side, with its evidence.
--   other: The other side, with its evidence.
WITH
-- Each is read several times: computed once.
seen_observations AS MATERIALIZED (
    FROM profile_observations
),
sides AS MATERIALIZED (
    SELECT
        product,
        driver_version,
        bound,
        value,
        basis,
        capture_sha256,
        capture_line,
        number_text(value) || ' ' || unit || ' (' || basis || ', ' || evidence_text(left(capture_sha256, 12), capture_line) || ')' AS side
    FROM profile_bounds
    WHERE value IS NOT NULL
),
disagreeing AS (
    SELECT
        product,
        driver_version,
        bound,
        CASE basis WHEN 'read' THEN 'CAPTURES_DISAGREE' ELSE 'DECISIONS_DISAGREE' END AS reason_code,
        arg_min(side, value) AS one,
        arg_max(side, value) AS other
    FROM sides
    WHERE basis IN ('read', 'pinned')
    GROUP BY product, driver_version, bound, basis
    HAVING count(DISTINCT value) > 1
),
against_decision AS (
    SELECT
        pinned.product,
        pinned.driver_version,
        pinned.bound,
        'EVIDENCE_CONTRADICTS_DECISION' AS reason_code,
        pinned.side AS one,
        min(found.side) AS other
    FROM sides AS pinned
    INNER JOIN sides AS found
        ON pinned.product = found.product AND pinned.driver_version = found.driver_version AND pinned.bound = found.bound
    LEFT JOIN sides AS pinned_reference
        ON
            pinned_reference.product = pinned.product
            AND pinned_reference.driver_version = pinned.driver_version
            AND pinned_reference.bound = 'core_reference_c'
            AND pinned_reference.basis = 'pinned'
    WHERE
        pinned.basis = 'pinned'
        AND (
            (found.basis = 'read' AND found.value <> pinned.value)
            -- The sum is rounded twice and is a lower bound: only one that is higher by more than 1 C contradicts.
            OR (found.basis = 'derived' AND found.bound = 'core_reference_c' AND found.value > pinned.value + 1)
            OR (
                found.basis = 'derived'
                AND found.bound <> 'core_reference_c'
                AND pinned_reference.value IS NULL
                AND found.value > pinned.value + 1
            )
        )
    GROUP BY ALL
),
offsets AS (
    -- Offsets are printed exactly: with a pinned reference they must give the pinned thresholds exactly.
    SELECT
        pinned.product,
        pinned.driver_version,
        pinned.bound,
        'EVIDENCE_CONTRADICTS_DECISION' AS reason_code,
        pinned.side AS one,
        min('reference ' || reference.side || ' minus offset ' || printed.side) AS other
    FROM sides AS pinned
    INNER JOIN sides AS reference
        ON
            pinned.product = reference.product
            AND pinned.driver_version = reference.driver_version
            AND reference.bound = 'core_reference_c'
            AND reference.basis = 'pinned'
    INNER JOIN sides AS printed
        ON
            pinned.product = printed.product
            AND pinned.driver_version = printed.driver_version
            AND printed.bound = replace(pinned.bound, '_c', '_offset_c')
            AND printed.basis = 'read'
    WHERE
        pinned.basis = 'pinned'
        AND pinned.bound IN ('core_slowdown_c', 'core_shutdown_c')
        AND reference.value - printed.value <> pinned.value
    GROUP BY ALL
),
scales AS (
    SELECT
        absolute.product,
        absolute.driver_version,
        absolute.quantity AS bound,
        'SCALES_DISAGREE' AS reason_code,
        min(number_text(absolute.value) || ' C (read, ' || evidence_text(left(absolute.capture_sha256, 12), absolute.capture_line) || ')') AS one,
        min('offset ' || number_text(shifted.value) || ' C (read, ' || evidence_text(left(shifted.capture_sha256, 12), shifted.capture_line) || ')')
            AS other
    FROM seen_observations AS absolute
    INNER JOIN seen_observations AS shifted
        ON
            absolute.capture_id = shifted.capture_id
            AND absolute.product = shifted.product
            AND absolute.driver_version = shifted.driver_version
            AND shifted.quantity = replace(absolute.quantity, '_c', '_offset_c')
    WHERE absolute.quantity IN ('core_slowdown_c', 'core_shutdown_c', 'core_max_operating_c')
    GROUP BY ALL
),
ordered (lower, upper) AS (
    VALUES
        ('core_shutdown_offset_c', 'core_slowdown_offset_c'),
        ('core_slowdown_offset_c', 'core_max_operating_offset_c'),
        ('core_max_operating_c', 'core_slowdown_c'),
        ('core_slowdown_c', 'core_shutdown_c'),
        ('power_limit_min_w', 'power_limit_max_w')
),
out_of_order AS (
    SELECT
        low.product,
        low.driver_version,
        low.bound,
        'THRESHOLDS_OUT_OF_ORDER' AS reason_code,
        min(low.side) AS one,
        min(high.bound || ' ' || high.side) AS other
    FROM ordered
    INNER JOIN sides AS low ON ordered.lower = low.bound
    INNER JOIN sides AS high
        ON
            ordered.upper = high.bound
            AND low.product = high.product
            AND low.driver_version = high.driver_version
            AND low.basis = high.basis
    WHERE low.value > high.value AND low.basis = 'read'
    GROUP BY low.product, low.driver_version, low.bound
)
SELECT * FROM disagreeing
UNION ALL BY NAME
SELECT * FROM against_decision
UNION ALL BY NAME
SELECT * FROM offsets
UNION ALL BY NAME
SELECT * FROM scales
UNION ALL BY NAME
SELECT * FROM out_of_order
