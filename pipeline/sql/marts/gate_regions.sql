-- One row per timed region and scope of a reading: the harness's point rule and the statistical rule, side by side.
-- The statistical rule: paired log ratios of the rounds that count, exact signed-rank test at the margin. Pass: below the margin
-- at alpha. Fail: above it at alpha after Holm over the gated regions of the record. Nothing is decided unless every round of
-- the plan is there and counts.
--   gate_kind: compute, end_to_end, or none: shown and not gated.
--   planned_rounds: Accepted rounds wanted.
--   pairs: Accepted rounds of the plan in which both sides were timed.
--   pairs_counted: Those that count.
--   rounds_not_counted: The rounds that do not count.
--   baseline_ms: Median time of the baseline over the accepted rounds.
--   candidate_ms: Median time of the candidate over the accepted rounds.
--   baseline_spread: (max - min) / median of the baseline.
--   candidate_spread: (max - min) / median of the candidate.
--   ratio_of_medians: candidate_ms / baseline_ms, the harness's own number, computed anew.
--   asserted_ratio: The ratio that the record states.
--   median_ratio: Median of the paired ratios of the rounds that count.
--   hodges_lehmann: Hodges-Lehmann estimate of the paired ratio, over the rounds that count.
--   interval_low: Lower end of its exact interval at 1 - 2 alpha.
--   interval_high: Upper end of its exact interval at 1 - 2 alpha.
--   median_low: Lower end of the distribution-free interval of the median ratio.
--   median_high: Upper end of the distribution-free interval of the median ratio.
--   detectable_effect: Smallest excess over the margin that 80 % of such campaigns would find, as a share; an approximation.
--   margin: Largest ratio that passes, by the policy.
--   is_short: Whether it is a short compute region, to which the margin of short regions applies.
--   is_short_in_doubt: Whether the interval of the baseline's median holds the limit of short regions.
--   p_pass: Chance of such rounds if the ratio were at the margin, against below it.
--   p_fail: The same against above it.
--   p_fail_holm: p_fail after Holm over the gated regions of the record.
--   rounds_needed_to_pass: Fewest rounds with which the test could pass.
--   rounds_needed_to_fail: Fewest rounds with which the test could fail.
--   point_rule: pass or fail by the ratio of medians alone, which knows no uncertainty; NULL: no ratio or no margin.
--   effect: improved or equivalent, where the rounds show it at alpha.
--   verdict: pass, fail or inconclusive; NULL: the region is not gated, or the reading never gates.
--   reason_code: Why.
--   order_design: Order of the sides; AB leaves effects of the order on one side.
WITH
gathered AS (
    SELECT
        capture_id,
        case_id,
        reading_id,
        region,
        scope,
        count(*) FILTER (baseline_ms IS NOT NULL AND candidate_ms IS NOT NULL) AS pairs,
        count_if(is_counted) AS pairs_counted,
        count_if(is_counted AND log_ratio IS NULL) AS pairs_without_ratio,
        count_if(is_only_unverified) AS pairs_unverified,
        list(round ORDER BY round) FILTER (NOT is_counted) AS rounds_not_counted,
        min(lock_state) FILTER (NOT is_counted) AS worst_lock_state,
        min_by(not_counted_because, round) FILTER (NOT is_counted) AS not_counted_because,
        median(baseline_ms) AS baseline_ms,
        median(candidate_ms) AS candidate_ms,
        max(baseline_ms) - min(baseline_ms) AS baseline_range_ms,
        max(candidate_ms) - min(candidate_ms) AS candidate_range_ms,
        list(log_ratio ORDER BY round) FILTER (is_counted) AS held_ratios,
        list(log_ratio ORDER BY round) FILTER (is_counted OR is_only_unverified) AS lenient_ratios,
        list(baseline_ms ORDER BY round) FILTER (baseline_ms IS NOT NULL) AS baselines
    FROM gate_pairs
    GROUP BY capture_id, case_id, reading_id, region, scope
),
asserted AS (
    SELECT capture_id, case_id, reading_id, region, scope, any_value(value_number) AS asserted_ratio
    FROM stg_gate_assertions
    WHERE quantity = 'ratio'
    GROUP BY capture_id, case_id, reading_id, region, scope
),
lone AS (
    -- Times that no round holds together: one side per file, or sides that nobody tells.
    SELECT
        capture_id,
        case_id,
        reading_id,
        region,
        scope,
        count(value_ms) AS lone_samples,
        median(value_ms) FILTER (side = 'baseline') AS baseline_ms,
        median(value_ms) FILTER (side = 'candidate') AS candidate_ms
    FROM stg_gate_samples
    WHERE round IS NULL AND attempt IS NULL
    GROUP BY capture_id, case_id, reading_id, region, scope
),
joined AS (
    SELECT
        regions.capture_id,
        regions.capture_sha256,
        regions.capture_pointer,
        regions.case_id,
        regions.reading_id,
        regions.region,
        regions.scope,
        regions.gate_kind,
        regions.is_skipped,
        regions.skip_reason,
        readings.lock_name,
        readings.role,
        readings.status,
        readings.planned_rounds,
        readings.rounds_accepted,
        readings.order_design,
        coalesce(gathered.pairs, 0) AS pairs,
        coalesce(gathered.pairs_counted, 0) AS pairs_counted,
        coalesce(gathered.pairs_without_ratio, 0) AS pairs_without_ratio,
        coalesce(gathered.pairs_unverified, 0) AS pairs_unverified,
        gathered.rounds_not_counted,
        gathered.worst_lock_state,
        gathered.not_counted_because,
        coalesce(gathered.baseline_ms, lone.baseline_ms) AS baseline_ms,
        coalesce(gathered.candidate_ms, lone.candidate_ms) AS candidate_ms,
        gathered.baseline_range_ms / nullif(gathered.baseline_ms, 0) AS baseline_spread,
        gathered.candidate_range_ms / nullif(gathered.candidate_ms, 0) AS candidate_spread,
        CASE policy.mode WHEN 'lenient' THEN gathered.lenient_ratios ELSE gathered.held_ratios END AS log_ratios,
        gathered.baselines,
        coalesce(lone.lone_samples, 0) AS lone_samples,
        asserted.asserted_ratio,
        policy.mode,
        policy.alpha,
        policy.min_rounds,
        policy.short_min_rounds,
        policy.short_below_ms,
        regions.gate_kind = 'compute' AND gathered.baseline_ms < policy.short_below_ms AS is_short,
        CASE
            WHEN regions.gate_kind = 'end_to_end' THEN policy.margin_end_to_end
            WHEN regions.gate_kind = 'compute' AND gathered.baseline_ms < policy.short_below_ms THEN policy.margin_short
            WHEN regions.gate_kind = 'compute' THEN policy.margin_compute
        END AS margin,
        regions.gate_kind IN ('compute', 'end_to_end') AND coalesce(readings.lock_name <> 'none', true) AS is_gated
    FROM stg_gate_regions AS regions
    INNER JOIN gate_readings AS readings USING (capture_id, case_id, reading_id)
    CROSS JOIN gate_policy AS policy
    LEFT JOIN gathered
        ON regions.capture_id = gathered.capture_id AND regions.case_id = gathered.case_id
        AND regions.reading_id = gathered.reading_id AND regions.region = gathered.region
        AND regions.scope IS NOT DISTINCT FROM gathered.scope
    LEFT JOIN asserted
        ON regions.capture_id = asserted.capture_id AND regions.case_id = asserted.case_id
        AND regions.reading_id = asserted.reading_id AND regions.region = asserted.region
        AND regions.scope IS NOT DISTINCT FROM asserted.scope
    LEFT JOIN lone
        ON regions.capture_id = lone.capture_id AND regions.case_id = lone.case_id
        AND regions.reading_id = lone.reading_id AND regions.region = lone.region
        AND regions.scope IS NOT DISTINCT FROM lone.scope
),
tested AS MATERIALIZED (
    SELECT
        *,
        paired_test(log_ratios, ln(coalesce(margin, 1.0)), alpha) AS test,
        median_interval(baselines, 1 - 2 * alpha) AS baseline_interval
    FROM joined
),
families AS (
    -- Holm counts every gated region of the record, those without a test too.
    SELECT
        *,
        count(*) FILTER (is_gated) OVER (PARTITION BY capture_id) AS family,
        row_number() OVER (PARTITION BY capture_id, is_gated ORDER BY test.p_fail NULLS LAST, capture_pointer, reading_id) AS place
    FROM tested
),
adjusted AS (
    SELECT
        *,
        CASE
            WHEN is_gated AND test.p_fail IS NOT NULL
                THEN least(1.0, max((family - place + 1) * test.p_fail) OVER (PARTITION BY capture_id, is_gated ORDER BY place))
        END AS p_fail_holm,
        candidate_ms / nullif(baseline_ms, 0) AS ratio_of_medians,
        greatest(ceil(log2(1 / alpha)), min_rounds, CASE WHEN is_short THEN short_min_rounds ELSE 0 END)::INTEGER AS rounds_needed_to_pass,
        greatest(ceil(log2(greatest(family, 1) / alpha)), min_rounds, CASE WHEN is_short THEN short_min_rounds ELSE 0 END)::INTEGER
            AS rounds_needed_to_fail
    FROM families
),
reasoned AS (
    SELECT
        *,
        test.n - test.zeros AS effective_rounds,
        CASE
            WHEN is_skipped THEN 'SKIPPED'
            WHEN lock_name = 'none' THEN 'DEFAULT_CLOCKS_NEVER_GATE'
            WHEN role = 'experiment' THEN 'EXPERIMENT_NEVER_GATES'
            WHEN gate_kind = 'none' THEN 'NOT_GATED'
            WHEN order_design = 'unpaired' AND lone_samples = 0 THEN 'SUMMARY_ONLY'
            WHEN order_design = 'unpaired' THEN 'UNPAIRED'
            WHEN gate_kind IS NULL THEN 'GATE_KIND_UNKNOWN'
            WHEN status = 'not_measured' THEN 'NOT_MEASURED'
            WHEN planned_rounds IS NULL THEN 'PLAN_UNKNOWN'
            WHEN pairs = 0 THEN 'NO_PAIRS'
            WHEN status <> 'complete' THEN 'ROUNDS_MISSING'
            WHEN pairs < planned_rounds THEN 'PAIRS_MISSING'
            WHEN pairs_counted + pairs_unverified < pairs THEN
                CASE WHEN worst_lock_state = 'broken' THEN 'LOCK_BROKEN' ELSE 'ROUND_DISTURBED' END
            WHEN pairs_unverified > 0 AND mode = 'strict' THEN 'LOCK_UNVERIFIED'
            WHEN test.p_pass IS NULL THEN 'TIME_NOT_POSITIVE'
            WHEN test.n < rounds_needed_to_pass THEN 'TOO_FEW_ROUNDS'
            WHEN test.p_pass <= alpha THEN CASE WHEN pairs_unverified > 0 THEN 'PASS_UNVERIFIED' ELSE 'WITHIN_MARGIN' END
            WHEN p_fail_holm <= alpha AND test.n >= rounds_needed_to_fail
                THEN CASE WHEN pairs_unverified > 0 THEN 'FAIL_UNVERIFIED' ELSE 'ABOVE_MARGIN' END
            ELSE 'INTERVAL_CROSSES_MARGIN'
        END AS reason_code
    FROM adjusted
)
SELECT
    capture_id,
    capture_sha256,
    capture_pointer,
    case_id,
    reading_id,
    lock_name,
    role,
    region,
    scope,
    gate_kind,
    planned_rounds,
    pairs::INTEGER AS pairs,
    pairs_counted::INTEGER AS pairs_counted,
    rounds_not_counted,
    not_counted_because,
    baseline_ms,
    candidate_ms,
    baseline_spread,
    candidate_spread,
    ratio_of_medians,
    asserted_ratio,
    exp(test.median) AS median_ratio,
    exp(test.hodges_lehmann) AS hodges_lehmann,
    exp(test.interval_low) AS interval_low,
    exp(test.interval_high) AS interval_high,
    exp(test.median_low) AS median_low,
    exp(test.median_high) AS median_high,
    exp(test.detectable) - 1 AS detectable_effect,
    margin,
    coalesce(is_short, false) AS is_short,
    baseline_interval.low < short_below_ms AND baseline_interval.high >= short_below_ms AS is_short_in_doubt,
    CASE WHEN margin IS NOT NULL THEN test.p_pass END AS p_pass,
    CASE WHEN margin IS NOT NULL THEN test.p_fail END AS p_fail,
    p_fail_holm,
    rounds_needed_to_pass,
    rounds_needed_to_fail,
    CASE WHEN ratio_of_medians <= margin THEN 'pass' WHEN ratio_of_medians > margin THEN 'fail' END AS point_rule,
    CASE WHEN test.p_improved <= alpha THEN 'improved' WHEN test.p_equivalent <= alpha THEN 'equivalent' END AS effect,
    order_design,
    CASE
        WHEN reason_code = 'WITHIN_MARGIN' THEN 'pass'
        WHEN reason_code = 'ABOVE_MARGIN' THEN 'fail'
        WHEN reason_code IN ('NOT_GATED', 'DEFAULT_CLOCKS_NEVER_GATE', 'EXPERIMENT_NEVER_GATES') THEN NULL
        ELSE 'inconclusive'
    END AS verdict,
    reason_code,
    skip_reason
FROM reasoned
