-- Contract section: who defines the fields that a contract uses.
SELECT
    decision_id, field_name, field_id, header_name, catalogue_name, is_in_header, is_in_catalogue, is_enabled, smi_field, unit_hint, meaning,
    reason_code, capture_sha256, NULL::INTEGER AS capture_line, string_split(evidence, ' ')[1] AS first_evidence
FROM contract_coverage
ORDER BY decision_id, field_id NULLS LAST, field_name, capture_sha256
