-- One row per decision and DCGM field that its contract uses: who defines it. Fields are joined by id, across renames.
-- A header or catalogue counts for a contract when its sidecar names the version that the decision names (`versions`: dcgm,
-- dcgm_exporter), or when the decision lists its hash as evidence; those of other versions settle nothing.
--   is_in_force: Whether the decision is in force.
--   used_for: What the contract uses the field for, in its own words.
--   field_name: Name that the contract uses.
--   field_id: Its id: that of the header, else the contract's own.
--   header_name: Name that the header gives the id now.
--   catalogue_name: Name that the catalogue uses for it.
--   is_in_header: Whether the header defines it; NULL without a header of that version, or where lines of it were refused.
--   is_in_catalogue: Whether the catalogue lists it, disabled lines included; NULL without a catalogue of that version, or where the
--     exporter would refuse it.
--   is_enabled: Whether the catalogue's line is active.
--   is_deprecated: Whether the name that the contract uses is an old one.
--   smi_field: nvidia-smi query field of the same quantity.
--   is_in_smi: Whether nvidia-smi is known to have that field; NULL where none is named.
--   unit_hint: Unit that the header's comment speaks of.
--   meaning: The header's comment.
--   reason_code: DEFINED, DEFINED_UNDER_NEW_NAME, ID_DIFFERS, NOT_IN_HEADER, NOT_DEFINED (neither defines it), ID_UNKNOWN (the header
--     does not settle its id), HEADER_IN_DOUBT (lines of it were refused), HEADER_NOT_CAPTURED.
--   evidence: Header and catalogue lines, as SHA:LINE.
WITH
used AS (
    SELECT
        decisions.decision_id,
        decisions.contract,
        decisions.revision,
        decisions.is_in_force,
        claims.name AS field_name,
        claims.field_id,
        claims.smi_field,
        claims.value_text AS used_for,
        claims.capture_id,
        claims.capture_sha256,
        claims.capture_pointer
    FROM decisions
    INNER JOIN stg_decision_claims AS claims USING (capture_id, decision_id)
    -- The same content captured twice is one decision.
    SEMI JOIN (SELECT min(capture_id) AS capture_id FROM decisions GROUP BY decision_id, decision_sha256) AS first_seen USING (capture_id)
    WHERE claims.claim_kind = 'field'
),
named AS (
    -- Captures that a decision accepts as its header or catalogue: by version, or by hash.
    SELECT DISTINCT claims.capture_id AS decision_capture, claims.decision_id, captures.kind, captures.capture_id, captures.status
    FROM stg_decision_claims AS claims
    INNER JOIN stg_captures AS captures
        ON
            (claims.claim_kind = 'evidence' AND claims.name = captures.capture_sha256)
            OR (
                claims.claim_kind = 'tool'
                AND claims.value_text = (captures.sidecar::JSON ->> ('$.versions.' || claims.name))
                AND captures.kind = CASE claims.name WHEN 'dcgm' THEN 'dcgm_header' WHEN 'dcgm_exporter' THEN 'dcgm_counters' END
            )
    WHERE captures.kind IN ('dcgm_header', 'dcgm_counters') AND captures.status <> 'quarantined'
),
defined AS (
    SELECT named.decision_capture, named.decision_id, fields.*
    FROM named
    INNER JOIN stg_dcgm_fields AS fields USING (capture_id)
    WHERE NOT fields.is_marker
),
headers AS (
    SELECT decision_capture, decision_id, count(*) FILTER (kind = 'dcgm_header') AS headers,
        count(*) FILTER (kind = 'dcgm_header' AND status <> 'accepted') AS refused_headers,
        count(*) FILTER (kind = 'dcgm_counters') AS catalogues,
        count(*) FILTER (kind = 'dcgm_counters' AND status <> 'accepted') AS refused_catalogues
    FROM named
    GROUP BY decision_capture, decision_id
),
by_name AS (
    SELECT decision_capture, decision_id, field_name, min(field_id) AS header_id, any_true(is_deprecated) AS is_deprecated
    FROM defined
    GROUP BY decision_capture, decision_id, field_name
),
by_id AS (
    SELECT
        decision_capture,
        decision_id,
        field_id,
        min(field_name) AS header_name,
        arg_min(unit_hint, field_name) AS unit_hint,
        arg_min(meaning, field_name) AS meaning,
        arg_min(evidence_text(capture_sha256, capture_line), field_name) AS evidence
    FROM defined
    WHERE alias_of IS NULL AND field_id IS NOT NULL
    GROUP BY decision_capture, decision_id, field_id
),
listed AS (
    SELECT
        named.decision_capture,
        named.decision_id,
        counters.field_name AS catalogue_name,
        counters.metric_type,
        counters.help,
        counters.is_enabled,
        by_name.header_id,
        evidence_text(counters.capture_sha256, counters.capture_line) AS evidence
    FROM named
    INNER JOIN stg_dcgm_counters AS counters USING (capture_id)
    LEFT JOIN by_name
        ON
            named.decision_capture = by_name.decision_capture
            AND named.decision_id = by_name.decision_id
            AND counters.field_name = by_name.field_name
),
resolved AS (
    SELECT
        used.* REPLACE (coalesce(by_name.header_id, used.field_id) AS field_id),
        used.field_id AS stated_id,
        by_name.header_id,
        by_name.field_name AS found_name,
        by_name.is_deprecated,
        coalesce(headers.headers, 0) AS headers,
        coalesce(headers.refused_headers, 0) AS refused_headers,
        coalesce(headers.catalogues, 0) AS catalogues,
        coalesce(headers.refused_catalogues, 0) AS refused_catalogues
    FROM used
    LEFT JOIN headers ON used.capture_id = headers.decision_capture AND used.decision_id = headers.decision_id
    LEFT JOIN by_name
        ON
            used.capture_id = by_name.decision_capture
            AND used.decision_id = by_name.decision_id
            AND used.field_name = by_name.field_name
),
catalogued AS (
    SELECT resolved.capture_id, resolved.decision_id, resolved.field_name, listed.*  EXCLUDE (decision_capture, decision_id)
    FROM resolved
    INNER JOIN listed
        ON
            resolved.capture_id = listed.decision_capture
            AND resolved.decision_id = listed.decision_id
            AND (resolved.field_name = listed.catalogue_name OR resolved.field_id = listed.header_id)
    QUALIFY row_number() OVER (
        PARTITION BY resolved.capture_id, resolved.decision_id, resolved.field_name ORDER BY listed.is_enabled DESC, listed.catalogue_name, listed.evidence
    ) = 1
),
covered AS (
    SELECT
        resolved.decision_id,
        resolved.contract,
        resolved.revision,
        resolved.is_in_force,
        resolved.field_name,
        resolved.field_id,
        by_id.header_name,
        catalogued.catalogue_name,
        CASE
            WHEN resolved.found_name IS NOT NULL OR by_id.header_name IS NOT NULL THEN true
            -- A refused line may have been the one that defines it.
            WHEN resolved.headers > 0 AND resolved.refused_headers = 0 THEN false
        END AS is_in_header,
        CASE
            WHEN resolved.refused_catalogues > 0 OR resolved.catalogues = 0 THEN NULL
            ELSE catalogued.catalogue_name IS NOT NULL
        END AS is_in_catalogue,
        CASE WHEN resolved.refused_catalogues = 0 THEN catalogued.is_enabled END AS is_enabled,
        catalogued.metric_type,
        resolved.is_deprecated,
        coalesce(resolved.smi_field, known.smi_field) AS smi_field,
        resolved.used_for,
        by_id.unit_hint,
        by_id.meaning,
        catalogued.help,
        resolved.stated_id,
        resolved.header_id,
        resolved.headers,
        concat_ws(' ', by_id.evidence, catalogued.evidence) AS evidence,
        resolved.capture_pointer,
        resolved.capture_id,
        resolved.capture_sha256
    FROM resolved
    LEFT JOIN by_id
        ON
            resolved.capture_id = by_id.decision_capture
            AND resolved.decision_id = by_id.decision_id
            AND resolved.field_id = by_id.field_id
    LEFT JOIN catalogued
        ON
            resolved.capture_id = catalogued.capture_id
            AND resolved.decision_id = catalogued.decision_id
            AND resolved.field_name = catalogued.field_name
    LEFT JOIN ref_dcgm_smi_fields AS known ON resolved.field_id = known.field_id::INTEGER
)
SELECT
    covered.* EXCLUDE (stated_id, header_id, headers),
    CASE WHEN covered.smi_field IS NOT NULL THEN EXISTS (FROM ref_smi_fields AS known WHERE known.field = covered.smi_field) END AS is_in_smi,
    CASE
        WHEN covered.stated_id <> covered.header_id THEN 'ID_DIFFERS'
        WHEN covered.is_in_header AND covered.header_name <> covered.field_name THEN 'DEFINED_UNDER_NEW_NAME'
        WHEN covered.is_in_header AND covered.header_name IS NULL THEN 'ID_UNKNOWN'
        WHEN covered.is_in_header THEN 'DEFINED'
        WHEN covered.headers > 0 AND covered.is_in_header IS NULL THEN 'HEADER_IN_DOUBT'
        WHEN covered.is_in_header IS NULL THEN 'HEADER_NOT_CAPTURED'
        WHEN covered.is_in_catalogue IS false THEN 'NOT_DEFINED'
        ELSE 'NOT_IN_HEADER'
    END AS reason_code
FROM covered
