-- One row per parent GPU and capture that lists MIG devices of it.
-- The generation is a fence, not a proof: layouts are equal only if their layout_sha256 are. A listing that shows a
-- strict subset of another listing of the same parent is a partial view (a pod or a job sees some), not a new layout.
--   parent_device_id: Device id of the parent.
--   child_count: MIG devices listed.
--   observed_at: When it was captured; NULL when not known: then there is no order.
--   is_current: Whether it is the parent's newest layout; NULL when the order is not known or it is a partial view.
--   is_partial_view: true for a restricted viewer or a strict subset; false for viewer host; NULL when not known.
--   parent_newest_at: When the parent's newest layout (perhaps without MIG devices) was seen; NULL when not known.
--   viewer: Whose view it is: host or restricted; NULL when not said.
--   why_generation: Reason when there is no generation.
WITH
listed AS (
    SELECT
        gpu_device_id(children.parent_gpu_uuid, captures.is_masked, NULL, children.gpu_index, children.capture_id)
            AS parent_device_id,
        children.capture_id,
        any_value(captures.capture_sha256) AS capture_sha256,
        min(children.capture_line) AS capture_line,
        min(children.config_generation) AS config_generation,
        min(children.layout_sha256) AS layout_sha256,
        min(why_absent(children.absent, 'config_generation')) AS why_generation,
        count(*) AS child_count,
        list(DISTINCT children.mig_uuid) AS children,
        any_value(captures.captured_at) AS observed_at,
        any_value(captures.viewer) AS viewer,
        any_value(captures.source) AS source,
        any_value(captures.is_simulated) AS is_simulated
    FROM stg_mig_devices AS children
    INNER JOIN stg_captures AS captures USING (capture_id)
    GROUP BY parent_device_id, children.capture_id
),
judged AS (
    SELECT
        mine.*,
        CASE
            WHEN mine.viewer = 'restricted' THEN true
            WHEN mine.viewer = 'host' THEN false
            WHEN EXISTS (
                FROM listed AS other
                WHERE
                    other.parent_device_id = mine.parent_device_id
                    AND len(other.children) > len(mine.children)
                    AND list_has_all(other.children, mine.children)
            ) THEN true
        END AS is_partial_view
    FROM listed AS mine
),
empty_views AS (
    -- A host's listing of a GPU without MIG devices: whatever it was before, that layout is gone.
    SELECT
        gpu_device_id(gpus.gpu_uuid, captures.is_masked, NULL, gpus.gpu_index, gpus.capture_id) AS parent_device_id,
        captures.captured_at AS observed_at
    FROM stg_gpu_list AS gpus
    INNER JOIN stg_captures AS captures USING (capture_id)
    ANTI JOIN stg_mig_devices AS children
        ON gpus.capture_id = children.capture_id AND gpus.gpu_uuid = children.parent_gpu_uuid
    WHERE captures.viewer = 'host'
),
views AS (
    SELECT parent_device_id, list_sort(children) AS children, observed_at
    FROM judged
    WHERE is_partial_view IS DISTINCT FROM true
    UNION ALL
    SELECT parent_device_id, [] AS children, observed_at
    FROM empty_views
),
whole AS (
    SELECT
        parent_device_id,
        count(DISTINCT children) AS layouts,
        count(*) = count(observed_at) AS is_ordered,
        max(observed_at) AS newest
    FROM views
    GROUP BY parent_device_id
),
newest AS (
    SELECT views.parent_device_id, count(DISTINCT views.children) AS layouts
    FROM views
    INNER JOIN whole USING (parent_device_id)
    WHERE views.observed_at = whole.newest
    GROUP BY views.parent_device_id
)
SELECT
    judged.* EXCLUDE (children),
    CASE
        WHEN judged.is_partial_view THEN NULL
        WHEN whole.layouts = 1 THEN true
        WHEN whole.is_ordered AND newest.layouts = 1 THEN judged.observed_at = whole.newest
    END AS is_current,
    CASE WHEN whole.is_ordered AND newest.layouts = 1 THEN whole.newest END AS parent_newest_at
FROM judged
LEFT JOIN whole USING (parent_device_id)
LEFT JOIN newest USING (parent_device_id)
