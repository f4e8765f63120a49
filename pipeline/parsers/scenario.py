"""Scenarios (JSON, format gpu-evidence/scenario/1): what an operator assumes of GPUs, never what hardware did.

A scenario is taken whole or refused whole. Its shape is checked by the model (scenario_model), what its parts say of
each other by scenario_checks. Bounds of a contract profile are not looked at: that needs other captures, and is done in
SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline import json_document
from pipeline.parsers import scenario_checks
from pipeline.parsers.scenario_model import Scenario

if TYPE_CHECKING:
    from pipeline.parsed import CaptureFacts, Parsed, Remarks
    from pipeline.parsers.scenario_model import Constraints, Demand

FORMAT = "gpu-evidence/scenario/1"
TABLES = ("scenarios", "scenario_gpus", "scenario_demands", "scenario_incidents", "scenario_faults")


def parse(data: bytes, _facts: CaptureFacts) -> Parsed:
    """Read a scenario; see the module for the rules."""
    return json_document.parse(data, TABLES, rows)


def detect(head: bytes) -> bool:
    """Whether the document names the format."""
    return json_document.has_format(head, FORMAT)


def rows(document: dict[str, Any], remarks: Remarks) -> dict[str, list[dict[str, Any]]]:
    """Rows of the five tables; none, and remarks, where the document has a fault."""
    made = json_document.check(Scenario, document, "scenario_invalid", remarks)
    if made is None:
        return {}
    scenario_checks.check(made, remarks)
    if remarks.issues:
        return {}
    found = {
        "scenarios": [_scenario(made)],
        "scenario_gpus": _gpus(made),
        "scenario_demands": _demands(made),
        "scenario_incidents": [
            {
                "incident": hit.incident,
                **_target(hit),
                "intensity": hit.intensity,
                "capture_pointer": f"/incidents/{at}",
            }
            for at, hit in enumerate(made.incidents)
        ],
        "scenario_faults": [
            {
                "fault": case.fault,
                **_target(case),
                "core_temp_c": case.core_temp_c,
                "capture_pointer": f"/fault_worst_cases/{at}",
            }
            for at, case in enumerate(made.fault_worst_cases)
        ],
    }
    return {name: [{"scenario": made.scenario, **row} for row in part] for name, part in found.items()}


def _target(part: Any) -> dict[str, str]:
    if part.gpu_id is not None:
        return {"target_kind": "gpu", "target": part.gpu_id}
    return {"target_kind": "node", "target": part.node_id}


def _scenario(made: Scenario) -> dict[str, Any]:
    return {
        "capture_pointer": "",
        "observed_at": made.observed_at,
        "allocation_provenance": made.allocation.provenance if made.allocation else None,
        "required_capabilities": " ".join(sorted(made.requires)) or None,
        "text": made.text,
    }


def _gpus(made: Scenario) -> list[dict[str, Any]]:
    shares = {part.gpu_id: part.share for part in made.allocation.gpus} if made.allocation else {}
    found: list[dict[str, Any]] = []
    for at, node in enumerate(made.topology.nodes):
        for number, gpu in enumerate(node.gpus):
            row = {
                "capture_pointer": f"/topology/nodes/{at}/gpus/{number}",
                "position": len(found) + 1,
                "node_id": node.node_id,
                "gpu_id": gpu.gpu_id,
                "model": gpu.model,
                "driver_version": gpu.driver_version or node.driver_version,
                "is_hgx": node.is_hgx if gpu.is_hgx is None else gpu.is_hgx,
                "is_available": gpu.is_available,
                "pool": gpu.pool,
                "share": shares.get(gpu.gpu_id),
                "power_budget_w": gpu.power_budget_w,
                "core_temp_c": gpu.core_temp_c,
                "loss": gpu.loss,
                "loss_cause": gpu.loss_cause,
            }
            found.append(row)
    return found


def _demands(made: Scenario) -> list[dict[str, Any]]:
    found = [
        {
            "capture_pointer": f"/demands/{at}",
            "target_kind": "gpu",
            "target": demand.gpu_id,
            "power_demand_w": demand.power_demand_w,
            "idle_power_w": demand.idle_power_w,
            **_request(demand),
        }
        for at, demand in enumerate(made.demands or [])
    ]
    for at, pool in enumerate(made.topology.pools or []):
        operating = pool.operating
        if operating is None:
            continue
        place = {"capture_pointer": f"/topology/pools/{at}/operating", "target": pool.pool}
        model = {"idle_power_w": operating.idle_power_w, "full_demand_power_w": operating.full_demand_power_w}
        if any(value is not None for value in model.values()):
            found.append({**place, "target_kind": "pool_operating", **model})
        if (declared := operating.constraints) is not None:
            powers = {
                name: getattr(declared, name)
                for name in ("idle_power_w", "full_demand_power_w", "power_fault_demand_w")
            }
            where = f"{place['capture_pointer']}/constraints"
            found.append({**place, "capture_pointer": where, "target_kind": "pool", **powers, **_request(declared)})
    return found


def _request(part: Demand | Constraints) -> dict[str, Any]:
    row: dict[str, Any] = {
        "driver_version": part.driver_version,
        "requested_sm_clock_mhz": part.requested_sm_clock_mhz,
        "requested_memory_clock_mhz": part.requested_memory_clock_mhz,
    }
    for name in ("thermal_cap", "power_cap"):
        cap = getattr(part, name)
        row[f"{name}_sm_clock_mhz"] = cap.sm_clock_mhz if cap else None
        row[f"{name}_memory_clock_mhz"] = cap.memory_clock_mhz if cap else None
    return row
