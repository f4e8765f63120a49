-- Functions for every query. Reasons are read from `absent`, never guessed.
CREATE MACRO why_absent(absent, column_name) AS
    nullif(regexp_extract(absent, '(^| )' || column_name || '=([a-z_]+)', 2), '');
-- A masked UUID has zeros in its three middle groups: it names a device only within its capture.
CREATE MACRO is_masked_uuid(uuid) AS
    coalesce(regexp_matches(uuid, '-0000-0000-0000-[0-9a-fA-F]{12}(/|$)'), false);
-- A GPU's identity: its UUID between captures; without one, or with a masked one, a name within its capture.
CREATE MACRO gpu_device_id(uuid, is_masked, bus_id, gpu_index, capture_id) AS
    CASE
        WHEN uuid IS NOT NULL AND NOT coalesce(is_masked, false) AND NOT is_masked_uuid(uuid) THEN uuid
        ELSE coalesce('GPU ' || gpu_index, 'GPU ' || bus_id, uuid) || '@' || left(capture_id, 12)
    END;
-- Three-valued "any": true if one is true, else unknown if one is unknown, else false.
CREATE MACRO any_true(flag) AS
    CASE WHEN bool_or(flag) THEN true WHEN count(*) > count(flag) THEN NULL ELSE false END;
-- A driver version as drivers name it: a remark in brackets behind it ([Deprecated; ...]) is not part of it.
CREATE MACRO driver_number(driver_version) AS
    nullif(regexp_extract(driver_version, '^[0-9]+(\.[0-9]+)+'), '');
-- Evidence as `gpu-evidence show` takes it.
CREATE MACRO evidence_text(capture_sha256, capture_line) AS
    capture_sha256 || coalesce(':' || capture_line, '');
-- A number as people write it: 89 and not 89.0.
CREATE MACRO number_text(value) AS
    regexp_replace(value::DOUBLE::VARCHAR, '\.0$', '');
-- Three-valued "all": false if one is false, else unknown if one is unknown, else true.
CREATE MACRO all_true(flag) AS
    CASE WHEN bool_or(NOT flag) THEN false WHEN count(*) > count(flag) THEN NULL ELSE true END;
-- Why there is no supported profile for a product and driver; NULL when there is one.
CREATE MACRO profile_gap(product, driver_version, profile_status) AS
    CASE
        WHEN product IS NULL THEN 'MODEL_UNKNOWN'
        WHEN driver_number(driver_version) IS NULL THEN 'DRIVER_UNKNOWN'
        WHEN profile_status IS NULL THEN 'PROFILE_MISSING'
        WHEN profile_status = 'candidate' THEN 'PROFILE_NOT_ACCEPTED'
        WHEN profile_status = 'contradicted' THEN 'PROFILE_CONTRADICTED'
    END;
-- Whether a cap lowers a requested clock: one that is not declared does not, and of half a cap nobody knows.
CREATE MACRO lowers_a_clock(cap_sm, cap_memory, requested_sm, requested_memory) AS
    CASE
        WHEN cap_sm IS NULL AND cap_memory IS NULL THEN false
        WHEN cap_sm IS NOT NULL AND cap_memory IS NOT NULL THEN cap_sm < requested_sm OR cap_memory < requested_memory
    END;
-- Whether a list of words, parted by blanks, holds one.
CREATE MACRO asks(words, word) AS
    list_contains(string_split(words, ' '), word);
-- A timed region as people write it: update[resident].
CREATE MACRO region_text(region, scope) AS
    region || coalesce('[' || scope || ']', '');
-- Numbers of a list, parted by blanks; a long list is cut.
CREATE MACRO list_text(numbers) AS
    array_to_string(list_slice(numbers, 1, 40), ' ') || CASE WHEN len(numbers) > 40 THEN ' ...' ELSE '' END;
-- A number with a fixed count of decimals.
CREATE MACRO decimals_text(value, decimals) AS
    CASE WHEN decimals = 0 THEN round(value, 0)::BIGINT::VARCHAR ELSE format('{:.' || decimals || 'f}', value::DOUBLE) END;
