-- One row per product, exact driver version, quantity, value and capture that shows it: what contract profiles are derived from.
-- Product and driver are those that the same capture names for the same GPU. Simulations and mocks say nothing about hardware
-- and are left out; so are products that reference/products.csv does not list.
--   quantity: A bound as printed (clocks in MHz, power in W, thresholds in C, offsets on the T.Limit scale in C), or
--     core_margin_sum_c: core temperature + T.Limit margin of one row.
--   value: Its value.
--   is_settled: For core_margin_sum_c: power below 25 % of the limit, and idle reason active or utilization 0. Under load the
--     margin follows a hotter sensor than the core's, and the sum is too low.
--   is_claim: Whether the capture is a claim or an assertion and no observation; NULL when its source is not said.
--   observations: Readings of the capture that show it.
WITH
readings AS (
    SELECT
        capture_id,
        capture_sha256,
        model,
        driver_number(driver_version) AS driver_version,
        sm_clock_max_mhz::DOUBLE AS sm_clock_max_mhz,
        memory_clock_max_mhz::DOUBLE AS memory_clock_max_mhz,
        power_limit_min_w,
        power_limit_max_w,
        (core_temp_c + core_temp_margin_c)::DOUBLE AS core_margin_sum_c,
        coalesce(
            greatest(power_draw_w, power_draw_average_w, power_draw_instant_w)
            < 0.25 * coalesce(power_limit_enforced_w, power_limit_w)
            AND (is_gpu_idle OR (clocks_event_reasons & 1) <> 0 OR gpu_utilization_pct = 0),
            false
        ) AS is_settled,
        min(capture_line) AS capture_line,
        count(*) AS observations
    FROM stg_gpu_readings
    WHERE model IS NOT NULL AND driver_version IS NOT NULL
    GROUP BY ALL
),
drivers AS (
    SELECT capture_id, document, min(driver_number(value_text)) AS driver_version
    FROM stg_gpu_query
    WHERE gpu IS NULL AND field = 'Driver Version'
    GROUP BY capture_id, document
    HAVING count(DISTINCT driver_number(value_text)) = 1
),
queried AS (
    SELECT
        capture_id,
        capture_sha256,
        document,
        gpu,
        min(value_text) FILTER (field = 'Product Name') AS model,
        min(value_number) FILTER (field = 'Max Clocks > SM') AS sm_clock_max_mhz,
        min(value_number) FILTER (field = 'Max Clocks > Memory') AS memory_clock_max_mhz,
        min(value_number) FILTER (field = 'GPU Power Readings > Min Power Limit') AS power_limit_min_w,
        min(value_number) FILTER (field = 'GPU Power Readings > Max Power Limit') AS power_limit_max_w,
        min(value_number) FILTER (field = 'Temperature > GPU Slowdown T.Limit Temp') AS core_slowdown_offset_c,
        min(value_number) FILTER (field = 'Temperature > GPU Shutdown T.Limit Temp') AS core_shutdown_offset_c,
        min(value_number) FILTER (field = 'Temperature > GPU Max Operating T.Limit Temp') AS core_max_operating_offset_c,
        min(value_number) FILTER (field = 'Temperature > GPU Slowdown Temp') AS core_slowdown_c,
        min(value_number) FILTER (field = 'Temperature > GPU Shutdown Temp') AS core_shutdown_c,
        min(value_number) FILTER (field = 'Temperature > GPU Max Operating Temp') AS core_max_operating_c,
        min(value_number) FILTER (field = 'Temperature > Memory Max Operating Temp') AS hbm_limit_c,
        min(value_number) FILTER (field = 'Temperature > GPU Current Temp')
        + min(value_number) FILTER (field = 'Temperature > GPU T.Limit Temp') AS core_margin_sum_c,
        coalesce(
            max(value_number) FILTER (
                field IN (
                    'GPU Power Readings > Power Draw',
                    'GPU Power Readings > Average Power Draw',
                    'GPU Power Readings > Instantaneous Power Draw'
                )
            ) < 0.25 * min(value_number) FILTER (field = 'GPU Power Readings > Current Power Limit')
            AND (
                bool_or(value_text = 'Active') FILTER (field = 'Clocks Event Reasons > Idle')
                OR max(value_number) FILTER (field = 'Utilization > GPU') = 0
            ),
            false
        ) AS is_settled,
        -- The lines of the values, by quantity: the block of a GPU is long, and a number leads back to its line.
        map_from_entries(list({'k': field, 'v': capture_line} ORDER BY capture_line) FILTER (field IS NOT NULL AND block IS NULL AND n = 1))
            AS lines
    FROM (
        SELECT *, row_number() OVER (PARTITION BY capture_id, document, gpu, field ORDER BY capture_line) AS n
        FROM stg_gpu_query
        WHERE gpu IS NOT NULL
    )
    GROUP BY capture_id, capture_sha256, document, gpu
),
said AS (
    SELECT * FROM (
        UNPIVOT readings
        ON
            sm_clock_max_mhz, memory_clock_max_mhz, power_limit_min_w, power_limit_max_w, core_margin_sum_c
        INTO NAME quantity VALUE value
    )
    UNION ALL BY NAME
    SELECT
        * EXCLUDE (lines, document, gpu),
        CASE quantity
            WHEN 'sm_clock_max_mhz' THEN lines['Max Clocks > SM']
            WHEN 'memory_clock_max_mhz' THEN lines['Max Clocks > Memory']
            WHEN 'power_limit_min_w' THEN lines['GPU Power Readings > Min Power Limit']
            WHEN 'power_limit_max_w' THEN lines['GPU Power Readings > Max Power Limit']
            WHEN 'core_slowdown_offset_c' THEN lines['Temperature > GPU Slowdown T.Limit Temp']
            WHEN 'core_shutdown_offset_c' THEN lines['Temperature > GPU Shutdown T.Limit Temp']
            WHEN 'core_max_operating_offset_c' THEN lines['Temperature > GPU Max Operating T.Limit Temp']
            WHEN 'core_slowdown_c' THEN lines['Temperature > GPU Slowdown Temp']
            WHEN 'core_shutdown_c' THEN lines['Temperature > GPU Shutdown Temp']
            WHEN 'core_max_operating_c' THEN lines['Temperature > GPU Max Operating Temp']
            WHEN 'hbm_limit_c' THEN lines['Temperature > Memory Max Operating Temp']
            ELSE lines['Temperature > GPU T.Limit Temp']
        END AS capture_line,
        1 AS observations
    FROM (
        UNPIVOT (SELECT queried.*, drivers.driver_version FROM queried INNER JOIN drivers USING (capture_id, document))
        ON
            sm_clock_max_mhz, memory_clock_max_mhz, power_limit_min_w, power_limit_max_w, core_slowdown_offset_c,
            core_shutdown_offset_c, core_max_operating_offset_c, core_slowdown_c, core_shutdown_c, core_max_operating_c,
            hbm_limit_c, core_margin_sum_c
        INTO NAME quantity VALUE value
    )
)
SELECT
    products.product,
    said.driver_version,
    said.quantity,
    said.value,
    CASE WHEN said.quantity = 'core_margin_sum_c' THEN said.is_settled END AS is_settled,
    sum(said.observations)::BIGINT AS observations,
    captures.source,
    captures.source IN ('published_claim', 'operator_assertion') AS is_claim,
    captures.is_simulated,
    said.capture_id,
    said.capture_sha256,
    min(said.capture_line) AS capture_line
FROM said
INNER JOIN stg_captures AS captures USING (capture_id)
INNER JOIN ref_products AS products ON said.model = products.model
WHERE
    said.driver_version IS NOT NULL
    AND captures.is_simulated IS NOT true
    AND captures.source IS DISTINCT FROM 'mock'
GROUP BY ALL
