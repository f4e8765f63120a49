"""What the parts of a scenario say of each other: every GPU exactly once, caps within requests, targets that exist."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.parsed import Remarks
    from pipeline.parsers.scenario_model import Constraints, Demand, Gpu, Scenario


def check(made: Scenario, remarks: Remarks) -> None:
    """Remark every fault, each with its pointer, what was found and what was expected."""

    def fault(code: str, pointer: str, message: str) -> None:
        remarks.add("error", code, f"found {message}; correct it", None, pointer)

    gpus = {gpu.gpu_id: gpu for node in made.topology.nodes for gpu in node.gpus}
    _topology(made, fault)
    _allocation(made, gpus, fault)
    _requests(made, fault)
    _coverage(made, gpus, fault)
    _drivers(made, fault)
    _incidents(made, gpus, fault)
    nodes = {node.node_id for node in made.topology.nodes}
    for at, case in enumerate(made.fault_worst_cases):
        if case.gpu_id not in gpus and case.node_id not in nodes:
            said = case.gpu_id or case.node_id
            fault(
                "fault_unknown_target",
                f"/fault_worst_cases/{at}",
                f"target {said!r}, expected a GPU or node of the topology",
            )


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _topology(made: Scenario, fault: Any) -> None:
    nodes = made.topology.nodes
    pools = made.topology.pools
    if not any(node.gpus for node in nodes):
        fault("scenario_invalid", "/topology/nodes", "no GPU at all, expected at least one")
    for name in _repeated(gpu.gpu_id for node in nodes for gpu in node.gpus):
        fault("gpu_repeated", "/topology/nodes", f"GPU {name!r} more than once in the topology, expected it once")
    for name in _repeated(node.node_id for node in nodes):
        fault("node_repeated", "/topology/nodes", f"node {name!r} more than once in the topology, expected it once")
    if len(set(made.requires)) < len(made.requires):
        fault("scenario_invalid", "/requires", f"{list(made.requires)!r}, expected each capability once")
    if pools is None:
        return
    known = {pool.pool for pool in pools}
    for name in _repeated(pool.pool for pool in pools):
        fault("pool_repeated", "/topology/pools", f"pool {name!r} more than once, expected it once")
    for at, node in enumerate(nodes):
        for number, gpu in enumerate(node.gpus):
            if gpu.pool is not None and gpu.pool not in known:
                place = f"/topology/nodes/{at}/gpus/{number}/pool"
                fault(
                    "pool_unknown", place, f"pool {gpu.pool!r} of GPU {gpu.gpu_id!r}, expected one of /topology/pools"
                )


def _constraints(made: Scenario) -> dict[str, Constraints]:
    return {
        pool.pool: pool.operating.constraints
        for pool in made.topology.pools or []
        if pool.operating is not None and pool.operating.constraints is not None
    }


def _each_once(kind: str, names: list[str], gpus: dict[str, Gpu], covered: set[str], place: str, fault: Any) -> None:
    """Every GPU, unavailable ones included, is named exactly once; those in `covered` are named elsewhere."""
    for name in _repeated(names):
        fault(f"{kind}_repeated", place, f"GPU {name!r} more than once in {place}, expected it once")
    for name in dict.fromkeys(names):
        if name not in gpus:
            fault(f"{kind}_unknown_gpu", place, f"GPU {name!r} in {place}, expected a GPU of the topology")
    named = covered.union(names)
    for name in gpus:
        if name not in named:
            fault(f"{kind}_missing_gpu", place, f"no entry for GPU {name!r} in {place}, expected one for every GPU")


def _allocation(made: Scenario, gpus: dict[str, Gpu], fault: Any) -> None:
    if made.allocation is not None:
        _each_once("allocation", [part.gpu_id for part in made.allocation.gpus], gpus, set(), "/allocation/gpus", fault)
    elif not {gpu.pool for gpu in gpus.values()}.isdisjoint(_constraints(made)):
        fault(
            "allocation_missing", "/allocation", "no allocation, expected one: demand of a pool follows from its shares"
        )


def _requests(made: Scenario, fault: Any) -> None:
    for at, demand in enumerate(made.demands or []):
        _caps(demand, f"/demands/{at}", fault)
    for at, pool in enumerate(made.topology.pools or []):
        operating = pool.operating
        place = f"/topology/pools/{at}/operating"
        if operating is None:
            continue
        _order(place, operating.idle_power_w, operating.full_demand_power_w, None, fault)
        if (declared := operating.constraints) is not None:
            _caps(declared, f"{place}/constraints", fault)
            powers = (declared.idle_power_w, declared.full_demand_power_w, declared.power_fault_demand_w)
            _order(f"{place}/constraints", *powers, fault)


def _order(place: str, idle: float | None, full: float | None, worst: float | None, fault: Any) -> None:
    if idle is not None and full is not None and idle > full:
        fault(
            "power_order",
            place,
            f"idle_power_w {idle:g} above full_demand_power_w {full:g} at {place}, expected it not above",
        )
    if full is not None and worst is not None and full > worst:
        said = f"full_demand_power_w {full:g} above power_fault_demand_w {worst:g} at {place}"
        fault("power_order", place, f"{said}, expected it not above")


def _caps(part: Demand | Constraints, place: str, fault: Any) -> None:
    for name in ("thermal_cap", "power_cap"):
        cap = getattr(part, name)
        if cap is None:
            continue
        for clock in ("sm_clock_mhz", "memory_clock_mhz"):
            value, request = getattr(cap, clock), getattr(part, f"requested_{clock}")
            if value is None:
                fault("cap_incomplete", f"{place}/{name}", f"{name} without {clock} at {place}, expected both clocks")
            elif value > request:
                said = f"{name} {clock} {value:g} above the requested {request:g} at {place}"
                fault("cap_above_request", f"{place}/{name}/{clock}", f"{said}, expected it not above")


def _coverage(made: Scenario, gpus: dict[str, Gpu], fault: Any) -> None:
    pools = _constraints(made)
    shared = {name for name, gpu in gpus.items() if gpu.pool in pools}
    if made.demands is None and not pools:
        return
    names = [demand.gpu_id for demand in made.demands or []]
    _each_once("demand", names, gpus, shared, "/demands", fault)
    for at, name in enumerate(names):
        if name in shared:
            said = f"a demand for GPU {name!r} beside operating.constraints of its pool {gpus[name].pool!r}"
            fault("demand_twice", f"/demands/{at}", f"{said}, expected one of the two")


def _drivers(made: Scenario, fault: Any) -> None:
    explicit = {demand.gpu_id: demand.driver_version for demand in made.demands or []}
    pools = _constraints(made)
    for at, node in enumerate(made.topology.nodes):
        for number, gpu in enumerate(node.gpus):
            said = gpu.driver_version or node.driver_version
            shared = pools[gpu.pool].driver_version if gpu.pool in pools else None
            asked = explicit.get(gpu.gpu_id, shared)
            if said is not None and asked is not None and said != asked:
                place = f"/topology/nodes/{at}/gpus/{number}"
                message = f"driver {asked!r} in the demand of GPU {gpu.gpu_id!r}, expected {said!r} as in the topology"
                fault("driver_mismatch", place, message)


def _incidents(made: Scenario, gpus: dict[str, Gpu], fault: Any) -> None:
    pools = _constraints(made)
    members = {node.node_id: [gpu.gpu_id for gpu in node.gpus] for node in made.topology.nodes}
    for at, hit in enumerate(made.incidents):
        place = f"/incidents/{at}"
        if hit.gpu_id not in gpus and hit.node_id not in members:
            said = hit.gpu_id or hit.node_id
            fault("incident_unknown_target", place, f"target {said!r}, expected a GPU or node of the topology")
            continue
        for name in members[hit.node_id] if hit.node_id is not None else [hit.gpu_id or ""]:
            declared = pools.get(gpus[name].pool or "")
            if declared is None or declared.power_fault_demand_w is None:
                expected = "expected operating.constraints of its pool with power_fault_demand_w"
                message = f"an incident on GPU {name!r} whose demand is not projected, {expected}"
                fault("incident_without_projection", place, message)
