"""VIEWS, the one list of SQL views, in the order in which they are made: a view may read those before it."""

from __future__ import annotations

VIEWS = (
    "staging/stg_captures",
    "staging/stg_source_errors",
    "staging/stg_gpu_readings",
    "staging/stg_gpu_list",
    "staging/stg_mig_devices",
    "staging/stg_gpu_query",
    "staging/stg_mig_instances",
    "marts/captures",
    "marts/source_errors",
    "marts/clocks_event_reasons",
    "marts/device_sightings",
    "marts/device_facts",
    "marts/mig_layouts",
    "marts/devices",
    "marts/acceptance",
)
