"""Random scenarios: the SQL agrees with a second evaluation in plain Python, written from the published rules.

Removing what supports an answer never makes another one. (Removing a refutation is another matter: a contradiction or a
superseding decision that is gone revives what it refuted.)
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import gpu_evidence

# The published profile, and nothing else is supported.
PRODUCT, DRIVER = "h100_sxm_80gb", "595.91.07"
SLOWDOWN, REFERENCE, SHUTDOWN = 89, 87, 95

CORES = st.sampled_from([None, 30, 86.9, 87, 87.1, 88.9, 89, 89.1, 94.9, 95, 95.1])
BUDGETS = st.sampled_from([200, 500, 600, 699.9, 700])
CLOCKS = st.sampled_from([0, 345, 1200, 1979, 1980])
MEMORY = st.sampled_from([0, 1593, 2618, 2619])


@st.composite
def gpus(draw: st.DrawFn, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    gpu: dict[str, Any] = {
        "node_id": "n",
        "gpu_id": f"g{number}",
        "model": draw(st.sampled_from([PRODUCT, PRODUCT, PRODUCT, "h200_sxm_141gb", "no such card"])),
        "is_available": draw(st.sampled_from([True, True, True, False])),
        "core_temp_c": draw(CORES),
        "power_budget_w": draw(st.one_of(BUDGETS, st.none())),
    }
    request = (draw(CLOCKS), draw(MEMORY))
    demand: dict[str, Any] = {
        "gpu_id": f"g{number}",
        "driver_version": draw(st.sampled_from([DRIVER, DRIVER, DRIVER, "590.48.01"])),
        "requested_sm_clock_mhz": request[0],
        "requested_memory_clock_mhz": request[1],
        "power_demand_w": draw(st.sampled_from([0, 199.9, 500, 500.1, 600, 700, 700.1, 900])),
    }
    for cap in ("thermal_cap", "power_cap"):
        if draw(st.booleans()):
            clocks = (min(draw(CLOCKS), request[0]), min(draw(MEMORY), request[1]))
            demand[cap] = {"sm_clock_mhz": clocks[0], "memory_clock_mhz": clocks[1]}
    return gpu, demand


def told(cause: bool | None, cap: dict[str, float] | None, request: tuple[float, float]) -> bool | None:
    """Whether a limiter acts: its cause holds, and its cap lowers a clock. None: not known."""
    lowers = cap is not None and (cap["sm_clock_mhz"] < request[0] or cap["memory_clock_mhz"] < request[1])
    return False if not lowers or cause is False else cause


def expected(gpu: dict[str, Any], demand: dict[str, Any]) -> dict[str, Any]:
    request = (demand["requested_sm_clock_mhz"], demand["requested_memory_clock_mhz"])
    silent = {
        "is_thermal_limited": False,
        "is_power_limited": False,
        "limiter_state": "not_evaluated",
        "achieved_sm_clock_mhz": None,
        "achieved_memory_clock_mhz": None,
    }
    supported = (gpu["model"], demand["driver_version"]) == (PRODUCT, DRIVER)
    if not supported or not gpu["is_available"]:
        return {"has_profile": supported, **silent}
    core, budget = gpu["core_temp_c"], gpu["power_budget_w"]
    hot = None if core is None else core > SLOWDOWN
    over = None if budget is None else demand["power_demand_w"] > budget
    thermal = told(hot, demand.get("thermal_cap"), request)
    power = told(over, demand.get("power_cap"), request)
    flags = {"has_profile": True, "is_thermal_limited": thermal, "is_power_limited": power}
    if None in (thermal, power) or budget is None:
        return silent | flags
    achieved = list(request)
    for acts, name in ((thermal, "thermal_cap"), (power, "power_cap")):
        if acts:
            cap = demand[name]
            achieved = [min(achieved[0], cap["sm_clock_mhz"]), min(achieved[1], cap["memory_clock_mhz"])]
    return flags | {
        "limiter_state": "active" if thermal or power else "inactive",
        "achieved_sm_clock_mhz": achieved[0],
        "achieved_memory_clock_mhz": achieved[1],
    }


SCENARIOS = st.integers(1, 40).flatmap(lambda count: st.tuples(*(gpus(number) for number in range(count))))


@given(SCENARIOS)
@settings(max_examples=10, deadline=None)
def test_sql_agrees_with_plain_python(pairs: tuple[tuple[dict[str, Any], dict[str, Any]], ...]) -> None:
    rows = gpu_evidence.constraint_points([gpu for gpu, _ in pairs], None, [demand for _, demand in pairs])
    for row, (gpu, demand) in zip(rows, pairs, strict=True):
        wanted = expected(gpu, demand)
        assert {name: row[name] for name in wanted} == wanted, (gpu, demand)


@given(SCENARIOS, st.sampled_from(["core_temp_c", "power_budget_w"]))
@settings(max_examples=5, deadline=None)
def test_unknown_never_turns_active_into_inactive_or_back(
    pairs: tuple[tuple[dict[str, Any], dict[str, Any]], ...], name: str
) -> None:
    demands = [demand for _, demand in pairs]
    before = gpu_evidence.constraint_points([gpu for gpu, _ in pairs], None, demands)
    after = gpu_evidence.constraint_points([gpu | {name: None} for gpu, _ in pairs], None, demands)
    for was, now in zip(before, after, strict=True):
        assert now["limiter_state"] in (was["limiter_state"], "not_evaluated")
        assert now["has_profile"] == was["has_profile"]


@given(SCENARIOS)
@settings(max_examples=2, deadline=None)
def test_without_the_decision_nothing_is_supported(
    pairs: tuple[tuple[dict[str, Any], dict[str, Any]], ...],
) -> None:
    from pipeline.constraints import BUNDLED

    captures = [BUNDLED / "h100-sxm-595.91.07"]
    rows = gpu_evidence.constraint_points(
        [gpu for gpu, _ in pairs], None, [demand for _, demand in pairs], evidence=captures
    )
    assert {(row["has_profile"], row["limiter_state"]) for row in rows} == {(False, "not_evaluated")}


@given(st.lists(st.tuples(CORES, CORES, st.sampled_from([True, False, None])), min_size=1, max_size=30))
@settings(max_examples=5, deadline=None)
def test_admissions_agree_with_plain_python(cases: list[tuple[float | None, float | None, bool | None]]) -> None:
    from pipeline.errors import AdmissionError

    for core, worst, is_hgx in cases[:6]:
        gpu = {"node_id": "n", "gpu_id": "a", "model": PRODUCT, "is_available": True, "driver_version": DRIVER}
        gpu |= {"core_temp_c": core, "is_hgx": is_hgx}
        faults = [] if worst is None else [{"fault": "f", "gpu_id": "a", "core_temp_c": worst}]
        known = core is not None and worst is not None and is_hgx
        admitted = bool(known and core is not None and core <= REFERENCE and worst is not None and worst < SHUTDOWN)
        try:
            gpu_evidence.require_gpu_fault_profile([gpu], faults)
        except AdmissionError:
            assert not admitted
        else:
            assert admitted
