"""The Python API: values worked out by hand from the published rules; pure, fresh, refused with precise words."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import gpu_evidence
from pipeline.errors import AdmissionError, AdmissionUnknownError, ScenarioError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

H100, DRIVER = "h100_sxm_80gb", "595.91.07"


def gpu(name: str = "a", **changes: Any) -> dict[str, Any]:
    base = {
        "node_id": "n",
        "gpu_id": name,
        "model": H100,
        "is_available": True,
        "power_budget_w": 700,
        "core_temp_c": 60,
    }
    return base | changes


def demand(name: str = "a", **changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "gpu_id": name,
        "driver_version": DRIVER,
        "requested_sm_clock_mhz": 1980,
        "requested_memory_clock_mhz": 2619,
        "power_demand_w": 600,
        "thermal_cap": {"sm_clock_mhz": 1200, "memory_clock_mhz": 2619},
        "power_cap": {"sm_clock_mhz": 1500, "memory_clock_mhz": 2400},
    }
    return {key: value for key, value in (base | changes).items() if value is not None}


def point(one: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    (row,) = gpu_evidence.constraint_points([one], None, [asked])
    return dict(row)


@pytest.mark.parametrize(
    ("core", "watts", "thermal", "power", "achieved"),
    [
        (88.9, 699.9, False, False, (1980, 2619)),
        (89, 700, False, False, (1980, 2619)),
        (89.1, 700, True, False, (1200, 2619)),
        (89, 700.1, False, True, (1500, 2400)),
        (89.1, 700.1, True, True, (1200, 2400)),
        (95, 600, True, False, (1200, 2619)),
        (87, 600, False, False, (1980, 2619)),
    ],
)
def test_boundaries(core: float, watts: float, thermal: bool, power: bool, achieved: tuple[float, float]) -> None:
    row = point(gpu(core_temp_c=core), demand(power_demand_w=watts))
    assert (row["is_thermal_limited"], row["is_power_limited"]) == (thermal, power)
    assert (row["achieved_sm_clock_mhz"], row["achieved_memory_clock_mhz"]) == achieved
    assert row["limiter_state"] == ("active" if thermal or power else "inactive")


def test_equal_caps_never_activate() -> None:
    equal = {"sm_clock_mhz": 1980, "memory_clock_mhz": 2619}
    row = point(gpu(core_temp_c=99), demand(power_demand_w=900, thermal_cap=equal, power_cap=equal))
    assert row["limiter_state"] == "inactive"
    assert (row["achieved_sm_clock_mhz"], row["achieved_memory_clock_mhz"]) == (1980, 2619)


@pytest.mark.parametrize(
    ("one", "asked"),
    [
        (gpu(core_temp_c=99), demand(driver_version="590.48.01")),
        (gpu(core_temp_c=99, model="l40s_48gb"), demand()),
        (gpu(core_temp_c=99, model="some new card"), demand()),
    ],
)
def test_unsupported_is_absent_and_never_zero(one: dict[str, Any], asked: dict[str, Any]) -> None:
    row = point(one, asked)
    assert (row["has_profile"], row["is_thermal_limited"], row["is_power_limited"]) == (False, False, False)
    assert (row["achieved_sm_clock_mhz"], row["achieved_memory_clock_mhz"]) == (None, None)
    assert row["limiter_state"] == "not_evaluated"


def test_unavailable_keeps_its_profile() -> None:
    row = point(gpu(is_available=False, core_temp_c=99), demand())
    assert (row["has_profile"], row["is_thermal_limited"], row["achieved_sm_clock_mhz"]) == (True, False, None)


def test_physical_order_and_timestamp_are_kept() -> None:
    names = ["z", "a", "m"]
    rows = gpu_evidence.constraint_points(
        [gpu(name) for name in names],
        None,
        [demand(name) for name in sorted(names)],
        observed_at="2026-10-05T12:00:00Z",
    )
    assert [row["gpu_id"] for row in rows] == names
    assert {row["observed_at"].isoformat() for row in rows} == {"2026-10-05T12:00:00+00:00"}


@pytest.mark.parametrize(
    ("one", "demands", "code"),
    [
        (gpu(), [], "demand_missing_gpu"),
        (gpu(is_available=False), [demand("b")], "demand_unknown_gpu"),
        (gpu(), [demand(), demand()], "demand_repeated"),
        (gpu(), [demand(power_demand_w=-1)], "negative"),
        (gpu(), [demand(power_demand_w=float("nan"))], "not_finite"),
        (gpu(), [demand(requested_sm_clock_mhz=float("inf"))], "not_finite"),
        (gpu(), [demand(thermal_cap={"sm_clock_mhz": 1200})], "cap_incomplete"),
        (gpu(), [demand(power_cap={"sm_clock_mhz": 1981, "memory_clock_mhz": 2619})], "cap_above_request"),
        (gpu(), [demand(requested_sm_clock_mhz=1980.5)], "outside_profile"),
        (gpu(), [demand(requested_memory_clock_mhz=2620)], "outside_profile"),
        (gpu(power_budget_w=199.9), [demand()], "outside_profile"),
        (gpu(power_budget_w=700.1), [demand()], "outside_profile"),
        (gpu(power_budget_w=700.1, is_available=False), [demand()], "outside_profile"),
    ],
)
def test_refusals(one: dict[str, Any], demands: list[dict[str, Any]], code: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        gpu_evidence.constraint_points([one], None, demands)
    assert caught.value.code == code
    assert "found" in caught.value.message or "above" in caught.value.message or "below" in caught.value.message


@pytest.mark.parametrize("budget", [200, 700])
def test_the_ends_of_the_range_are_in_it(budget: float) -> None:
    assert point(gpu(power_budget_w=budget), demand(power_demand_w=100))["limiter_state"] == "inactive"


def test_inputs_are_not_changed_and_values_are_fresh() -> None:
    topology, demands = [gpu()], [demand()]
    before = copy.deepcopy((topology, demands))
    rows = gpu_evidence.constraint_points(topology, None, demands)
    assert (topology, demands) == before
    rows[0]["achieved_sm_clock_mhz"] = 0
    assert point(gpu(), demand())["achieved_sm_clock_mhz"] == 1980


def test_profile_is_exact_and_fresh() -> None:
    found = gpu_evidence.profile(H100, DRIVER)
    assert found is not None
    names = ("sm_clock_max_mhz", "memory_clock_max_mhz", "power_limit_min_w", "power_limit_max_w")
    assert [found[name] for name in names] == [1980, 2619, 200, 700]
    assert [found[f"core_{name}_c"] for name in ("slowdown", "shutdown", "reference")] == [89, 95, 87]
    assert (found["hbm_limit_c"], found["rests_on_claim"]) == (None, True)
    found["core_slowdown_c"] = 0
    again = gpu_evidence.profile(H100, DRIVER)
    assert again is not None
    assert again["core_slowdown_c"] == 89
    assert gpu_evidence.profile(H100, "590.48.01") is None
    assert gpu_evidence.profile("h200_sxm_141gb", DRIVER) is None


POOLED: dict[str, Any] = {
    "nodes": [{"node_id": "n", "gpus": [{k: v for k, v in gpu(pool="p").items() if k != "node_id"}]}],
    "pools": [
        {
            "pool": "p",
            "operating": {
                "constraints": {
                    "driver_version": DRIVER,
                    "requested_sm_clock_mhz": 1980,
                    "requested_memory_clock_mhz": 2619,
                    "power_cap": {"sm_clock_mhz": 1500, "memory_clock_mhz": 2619},
                    "idle_power_w": 100,
                    "full_demand_power_w": 600,
                    "power_fault_demand_w": 900,
                }
            },
        }
    ],
}


@pytest.mark.parametrize(
    ("share", "incidents", "watts"),
    [
        # idle 100 + share x (full' - 100), full' = 600 + intensity x 300
        (0, [], 100),
        (0.5, [], 350),
        (1, [], 600),
        (1, [("gpu_id", "a", 0.5)], 750),
        (1, [("gpu_id", "a", 0.5), ("node_id", "n", 1)], 900),
        (0.5, [("gpu_id", "a", 1), ("node_id", "n", 0.25)], 500),
    ],
)
def test_projected_demand(share: float, incidents: list[tuple[str, str, float]], watts: float) -> None:
    hits = [{"incident": "gpu_power_constraint", key: name, "intensity": how} for key, name, how in incidents]
    (row,) = gpu_evidence.constraint_demands(POOLED, [{"gpu_id": "a", "share": share}], hits)
    assert row["power_demand_w"] == watts


def test_projected_demands_are_demands() -> None:
    shares = [{"gpu_id": "a", "share": 1}]
    hits = [{"incident": "gpu_power_constraint", "gpu_id": "a", "intensity": 1}]
    demands = gpu_evidence.constraint_demands(POOLED, shares, hits)
    (row,) = gpu_evidence.constraint_points(POOLED, shares, demands)
    assert (row["power_demand_w"], row["reason_code"], row["achieved_sm_clock_mhz"]) == (900, "POWER", 1500)


def test_arrow_in_arrow_out() -> None:
    topology = pa.Table.from_pylist([gpu()])
    found = gpu_evidence.constraint_points(topology, None, pa.Table.from_pylist([demand()]))
    assert isinstance(found, pa.Table)
    assert found["limiter_state"].to_pylist() == ["inactive"]


def admitted(worst: float | None, **changes: Any) -> list[dict[str, Any]]:
    said: dict[str, Any] = {"is_hgx": True, "driver_version": DRIVER}
    one = gpu(**(said | changes))
    cases = [] if worst is None else [{"fault": "pump", "gpu_id": "a", "core_temp_c": worst}]
    return list(gpu_evidence.require_gpu_fault_profile([one], cases))


@pytest.mark.parametrize("worst", [60, 87, 89, 92, 94.9])
def test_admitted(worst: float) -> None:
    assert admitted(worst)[0]["verdict"] == "pass"
    assert admitted(worst, core_temp_c=87)[0]["verdict"] == "pass"


@pytest.mark.parametrize(
    ("worst", "changes", "code"),
    [
        (95.0, {}, "WORST_CASE_NOT_BELOW_SHUTDOWN"),
        (95.1, {}, "WORST_CASE_NOT_BELOW_SHUTDOWN"),
        (90, {"core_temp_c": 87.1}, "BASELINE_ABOVE_REFERENCE"),
        (90, {"is_hgx": False}, "NOT_HGX"),
    ],
)
def test_not_admitted(worst: float, changes: dict[str, Any], code: str) -> None:
    with pytest.raises(AdmissionError, match=code):
        admitted(worst, **changes)


@pytest.mark.parametrize(
    ("worst", "changes", "code"),
    [
        (None, {}, "WORST_CASE_NOT_DECLARED"),
        (90, {"is_hgx": None}, "BOARD_UNKNOWN"),
        (90, {"core_temp_c": None}, "BASELINE_UNKNOWN"),
        (90, {"driver_version": "590.48.01"}, "PROFILE_MISSING"),
        (90, {"driver_version": None}, "DRIVER_UNKNOWN"),
    ],
)
def test_not_known_is_not_admitted(worst: float | None, changes: dict[str, Any], code: str) -> None:
    with pytest.raises(AdmissionUnknownError, match=code):
        admitted(worst, **changes)


def test_pools_that_are_no_pools_are_refused() -> None:
    topology = {"nodes": [{"node_id": "n", "gpus": [{k: v for k, v in gpu().items() if k != "node_id"}]}]}
    for pools in (["p"], [{"pool": "p", "operating": "idle"}]):
        with pytest.raises(ScenarioError):
            gpu_evidence.constraint_points(topology | {"pools": pools}, None, [demand()])


def test_what_is_no_records_is_refused() -> None:
    for topology, demands in (([gpu()], None), ("x", [demand()]), ([gpu()], [1])):
        with pytest.raises(ScenarioError, match="expected an Arrow table or a list of records"):
            gpu_evidence.constraint_points(topology, None, demands)


def test_evidence_of_ones_own(tmp_path: Path) -> None:
    assert gpu_evidence.profile(H100, DRIVER, evidence=[tmp_path]) is None
    with pytest.raises(UsageError, match="no captures there"):
        gpu_evidence.profile(H100, DRIVER, evidence=[tmp_path / "missing"])
