"""Tables of scenarios: what an operator assumes, never what hardware did."""

from __future__ import annotations

import pyarrow as pa

from schemas.columns import TEXT, UTC, absent, at_least, between, column, one_of, pointer_keys, table

_F64 = pa.float64()
_POSITIVE = (at_least(0),)
_SHARE = (between(0, 1),)
_TARGETS = (one_of("gpu", "node"),)


SCENARIOS = table(
    "scenarios",
    "One row per scenario.",
    {
        **pointer_keys(),
        "scenario": column(TEXT, "Name of the scenario.", required=True),
        "observed_at": column(UTC, "Time that the scenario stands for.", unit="UTC"),
        "allocation_provenance": column(TEXT, "Where the shares of the GPUs come from."),
        "required_capabilities": column(
            TEXT, "Capabilities that must be admitted, parted by blanks: thermal_envelope, gpu_fault_profile."
        ),
        "text": column(pa.string(), "The scenario in words."),
        **absent(),
    },
)

SCENARIO_GPUS = table(
    "scenario_gpus",
    "One row per GPU of a scenario, in physical order.",
    {
        **pointer_keys(),
        "scenario": column(TEXT, "Name of the scenario.", required=True),
        "position": column(pa.int32(), "Physical order, from 1.", required=True, rules=(at_least(1),)),
        "node_id": column(pa.string(), "Node that holds the GPU.", required=True),
        "gpu_id": column(pa.string(), "Name of the GPU, unique in the scenario.", required=True),
        "model": column(TEXT, "Product id or reported model name."),
        "driver_version": column(TEXT, "Driver of the node, where the topology says it."),
        "is_hgx": column(pa.bool_(), "Whether the GPU sits on an HGX board; NULL is not said."),
        "is_available": column(pa.bool_(), "Whether the GPU is available."),
        "pool": column(TEXT, "Pool of the GPU."),
        "share": column(_F64, "Share of the GPU that is allocated, 0 to 1.", rules=_SHARE),
        "power_budget_w": column(_F64, "Configured power budget.", unit="W", rules=_POSITIVE),
        "core_temp_c": column(_F64, "Synthetic core temperature.", unit="C", rules=_POSITIVE),
        "loss": column(_F64, "Declared loss of power draw from cooling or congestion, 0 to 1.", rules=_SHARE),
        "loss_cause": column(TEXT, "cooling or congestion.", rules=(one_of("cooling", "congestion"),)),
        **absent(),
    },
)

SCENARIO_DEMANDS = table(
    "scenario_demands",
    "One row per declared demand: of one GPU, or of every GPU of a pool.",
    {
        **pointer_keys(),
        "scenario": column(TEXT, "Name of the scenario.", required=True),
        "target_kind": column(
            TEXT,
            "gpu (an explicit demand), pool (operating.constraints) or pool_operating (an operating model without).",
            required=True,
            rules=(one_of("gpu", "pool", "pool_operating"),),
        ),
        "target": column(pa.string(), "GPU or pool.", required=True),
        "driver_version": column(TEXT, "The exact driver version that the demand is for."),
        "requested_sm_clock_mhz": column(_F64, "Requested SM clock.", unit="MHz", rules=_POSITIVE),
        "requested_memory_clock_mhz": column(_F64, "Requested memory clock.", unit="MHz", rules=_POSITIVE),
        "thermal_cap_sm_clock_mhz": column(_F64, "SM clock of the thermal cap.", unit="MHz", rules=_POSITIVE),
        "thermal_cap_memory_clock_mhz": column(_F64, "Memory clock of the thermal cap.", unit="MHz", rules=_POSITIVE),
        "power_cap_sm_clock_mhz": column(_F64, "SM clock of the power cap.", unit="MHz", rules=_POSITIVE),
        "power_cap_memory_clock_mhz": column(_F64, "Memory clock of the power cap.", unit="MHz", rules=_POSITIVE),
        "power_demand_w": column(_F64, "Unconstrained power demand, declared for a GPU.", unit="W", rules=_POSITIVE),
        "idle_power_w": column(_F64, "Idle power floor.", unit="W", rules=_POSITIVE),
        "full_demand_power_w": column(_F64, "Power demand at a share of 1.", unit="W", rules=_POSITIVE),
        "power_fault_demand_w": column(
            _F64, "Power demand at a share of 1 under a power constraint of intensity 1.", unit="W", rules=_POSITIVE
        ),
        **absent(),
    },
)

SCENARIO_INCIDENTS = table(
    "scenario_incidents",
    "One row per incident of a scenario.",
    {
        **pointer_keys(),
        "scenario": column(TEXT, "Name of the scenario.", required=True),
        "incident": column(TEXT, "gpu_power_constraint.", required=True, rules=(one_of("gpu_power_constraint"),)),
        "target_kind": column(TEXT, "gpu or node.", required=True, rules=_TARGETS),
        "target": column(pa.string(), "GPU or node that it hits.", required=True),
        "intensity": column(_F64, "How strong it is, 0 to 1.", required=True, rules=_SHARE),
        **absent(),
    },
)

SCENARIO_FAULTS = table(
    "scenario_faults",
    "One row per declared worst case of a fault.",
    {
        **pointer_keys(),
        "scenario": column(TEXT, "Name of the scenario.", required=True),
        "fault": column(TEXT, "Name of the fault.", required=True),
        "target_kind": column(TEXT, "gpu or node.", required=True, rules=_TARGETS),
        "target": column(pa.string(), "GPU or node that it hits.", required=True),
        "core_temp_c": column(
            _F64, "Core temperature in the worst case of the fault.", unit="C", required=True, rules=_POSITIVE
        ),
        **absent(),
    },
)
