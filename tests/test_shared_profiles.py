"""Contract profiles that follow from real captures that are not part of the project (skipped where absent)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gpu_evidence
from pipeline.database import Database, connect
from pipeline.ingest import ingest
from pipeline.store import open_store

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "captures"
OWN = [ROOT / "captures" / name for name in ("dcgm-contract-3", "h100-sxm-595.91.07")]

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/captures is not here")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    store = open_store(tmp_path_factory.mktemp("profiles") / "store", create=True)
    ingest(store, [SHARED / "smi", *OWN])
    return connect(store)


def profile(database: Database, product: str, driver: str) -> dict[str, Any]:
    (found,) = [
        row
        for row in database.rows("SELECT * FROM contract_profiles").to_pylist()
        if (row["product"], row["driver_version"]) == (product, driver)
    ]
    return dict(found)


def test_h100_is_a_candidate(database: Database) -> None:
    found = profile(database, "h100_sxm_80gb", "590.48.01")
    assert (found["status"], found["reason_code"], found["rests_on_claim"]) == ("candidate", "NO_DECISION", False)
    names = ("sm_clock_max_mhz", "memory_clock_max_mhz", "power_limit_min_w", "power_limit_max_w")
    assert [found[name] for name in names] == [1980, 2619, 200, 700]
    assert [found[f"core_{name}_c"] for name in ("reference", "slowdown", "shutdown")] == [87, 89, 95]
    assert found["hbm_limit_c"] is None


def test_l40s_has_no_settled_row(database: Database) -> None:
    # Both of its captures are at 100 %, the one that is called idle too.
    found = profile(database, "l40s_48gb", "595.80")
    assert [found[f"core_{name}_c"] for name in ("reference", "slowdown", "shutdown")] == [None, None, None]
    assert (found["core_slowdown_offset_c"], found["core_shutdown_offset_c"]) == (-2, -5)
    assert (found["settled_observations"], found["sums_seen_c"]) == (0, [88])


@pytest.mark.parametrize(
    ("product", "thresholds"),
    [("geforce_rtx_4080_super_16gb", [90, 96, 101]), ("geforce_rtx_2080_super_8gb", [89, 97, 100])],
)
def test_consumer_cards_print_temperatures(database: Database, product: str, thresholds: list[int]) -> None:
    found = profile(database, product, "595.71.05")
    assert [found[f"core_{name}_c"] for name in ("max_operating", "slowdown", "shutdown")] == thresholds
    assert (found["core_reference_c"], found["sums_seen_c"]) == (None, None)


def test_the_contract_is_for_its_own_driver(database: Database) -> None:
    found = profile(database, "h100_sxm_80gb", "595.91.07")
    assert (found["status"], found["rests_on_claim"]) == ("accepted", True)


def test_the_contract_does_not_apply_to_the_590_machine() -> None:
    gpu = {"node_id": "n", "gpu_id": "a", "model": "h100_sxm_80gb", "is_available": True, "power_budget_w": 700}
    demand = {"gpu_id": "a", "driver_version": "590.48.01", "requested_sm_clock_mhz": 1980, "power_demand_w": 700}
    (row,) = gpu_evidence.constraint_points(
        [gpu | {"core_temp_c": 94}],
        None,
        [demand | {"requested_memory_clock_mhz": 2619, "thermal_cap": {"sm_clock_mhz": 1, "memory_clock_mhz": 1}}],
        evidence=[SHARED / "smi" / "h100-80gb-hbm3__590.48.01", *OWN],
    )
    assert (row["has_profile"], row["reason_code"]) == (False, "PROFILE_NOT_ACCEPTED")
    assert (row["limiter_state"], row["achieved_sm_clock_mhz"]) == ("not_evaluated", None)
