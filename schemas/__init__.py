"""What the data is: one Pandera model per table, in one registry. Everything else about a column is derived from it."""

from __future__ import annotations

from schemas.captures import CAPTURES, SOURCE_ERRORS
from schemas.columns import arrow_schema, unstamped_schema
from schemas.dcgm import DCGM_COUNTERS, DCGM_FIELDS
from schemas.decisions import DECISION_CLAIMS, DECISIONS
from schemas.gate import GATE_TABLES
from schemas.gpu_query import GPU_QUERY
from schemas.gpu_readings import GPU_EXTRA, GPU_READINGS
from schemas.mig import GPU_LIST, MIG_DEVICES, MIG_INSTANCES
from schemas.scenarios import SCENARIO_DEMANDS, SCENARIO_FAULTS, SCENARIO_GPUS, SCENARIO_INCIDENTS, SCENARIOS

TABLES = {
    str(schema.name): schema
    for schema in (
        CAPTURES,
        SOURCE_ERRORS,
        GPU_READINGS,
        GPU_EXTRA,
        GPU_LIST,
        MIG_DEVICES,
        GPU_QUERY,
        MIG_INSTANCES,
        DCGM_FIELDS,
        DCGM_COUNTERS,
        DECISIONS,
        DECISION_CLAIMS,
        SCENARIOS,
        SCENARIO_GPUS,
        SCENARIO_DEMANDS,
        SCENARIO_INCIDENTS,
        SCENARIO_FAULTS,
        *GATE_TABLES,
    )
}

__all__ = ["TABLES", "arrow_schema", "unstamped_schema"]
