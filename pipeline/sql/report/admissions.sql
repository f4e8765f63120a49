-- Scenario section: admissions by GPU; of a large scenario what is not admitted comes first, up to 200 GPUs of a capability.
SELECT
    admitted.scenario,
    admitted.position,
    admitted.gpu_id,
    admitted.capability,
    admitted.verdict,
    admitted.reason_code,
    admitted.baseline_c,
    admitted.worst_case_c,
    admitted.fault,
    admitted.observed_c,
    admitted.limit_c,
    admitted.rests_on_claim,
    count(*) OVER (PARTITION BY admitted.capture_id, admitted.scenario, admitted.capability) AS gpus,
    admitted.capture_id,
    admitted.capture_sha256,
    NULL::INTEGER AS capture_line
FROM fault_admissions AS admitted
QUALIFY row_number() OVER (
    PARTITION BY admitted.capture_id, admitted.scenario, admitted.capability
    ORDER BY CASE admitted.verdict WHEN 'pass' THEN 2 ELSE 1 END, admitted.position
) <= 200
ORDER BY admitted.scenario, admitted.capture_id, admitted.capability DESC, admitted.position
