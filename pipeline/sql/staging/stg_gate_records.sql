-- One row per perf-gate record.
--   campaign: Captures taken together, by the sidecar's host and set; without a set, the capture alone.
--   can_raise_power_limit: Whether the power limit could be set higher; NULL where a limit is not known.
SELECT
    records.*,
    CASE WHEN captures."set" IS NOT NULL THEN coalesce(captures.host, '') || '/' || captures."set" ELSE captures.capture_id END AS campaign,
    CASE
        WHEN records.power_limit_w IS NOT NULL AND records.power_default_limit_w IS NOT NULL
            THEN records.power_limit_w < records.power_limit_max_w
    END AS can_raise_power_limit
FROM evidence.gate_records AS records
INNER JOIN evidence.captures AS captures USING (capture_id)
WHERE records.record_shape <> 'nvbench_samples'
