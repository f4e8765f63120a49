"""Scenarios: every refusal by code, pointer and what was found; whole ledgers for whatever is thrown at the parser."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import CaptureError
from pipeline.parsed import CaptureFacts, Parsed, Remarks
from pipeline.parsers import scenario

FACTS = CaptureFacts()
CAP = {"sm_clock_mhz": 1200, "memory_clock_mhz": 2619}
DEMAND = {
    "gpu_id": "a",
    "driver_version": "595.91.07",
    "requested_sm_clock_mhz": 1980,
    "requested_memory_clock_mhz": 2619,
    "power_demand_w": 600,
    "thermal_cap": CAP,
}
CONSTRAINTS = {
    "driver_version": "595.91.07",
    "requested_sm_clock_mhz": 1980,
    "requested_memory_clock_mhz": 2619,
    "idle_power_w": 70,
    "full_demand_power_w": 600,
    "power_fault_demand_w": 900,
}
EXPLICIT: dict[str, Any] = {
    "format": "gpu-evidence/scenario/1",
    "scenario": "s",
    "topology": {
        "nodes": [
            {
                "node_id": "n",
                "gpus": [{"gpu_id": "a", "model": "h100_sxm_80gb", "is_available": True, "power_budget_w": 600}],
            }
        ]
    },
    "demands": [DEMAND],
}
POOLED: dict[str, Any] = {
    "format": "gpu-evidence/scenario/1",
    "scenario": "s",
    "topology": {
        "nodes": [{"node_id": "n", "gpus": [{"gpu_id": "a", "model": "x", "is_available": False, "pool": "p"}]}],
        "pools": [{"pool": "p", "operating": {"constraints": CONSTRAINTS}}],
    },
    "allocation": {"gpus": [{"gpu_id": "a", "share": 0.5}]},
    "incidents": [{"incident": "gpu_power_constraint", "node_id": "n", "intensity": 1}],
}
GPU = ("topology", "nodes", 0, "gpus", 0)
POOL = ("topology", "pools", 0, "operating", "constraints")
GONE = object()


def changed(base: dict[str, Any], place: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    document = copy.deepcopy(base)
    part: Any = document
    for key in place[:-1]:
        part = part[key]
    if value is GONE:
        del part[place[-1]]
    elif isinstance(part, list) and place[-1] == len(part):
        part.append(value)
    else:
        part[place[-1]] = value
    return document


def parse(document: Any) -> Parsed:
    return scenario.parse(json.dumps(document).encode(), FACTS)


def leaves(value: Any) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 1 if parts is None else sum(map(leaves, parts)) or 1


@pytest.mark.parametrize("document", [EXPLICIT, POOLED])
def test_accepted(document: dict[str, Any]) -> None:
    parsed = parse(document)
    assert (parsed.issues, parsed.quarantine) == ([], None)
    assert parsed.ledger.rows == parsed.ledger.total == leaves(document)


OTHER = {"gpu_id": "b", "model": "x", "is_available": True}
REFUSED: list[tuple[str, dict[str, Any], tuple[str | int, ...], Any, str, str, str]] = [
    # name, base, place, value, code, pointer, what the message says
    ("missing key", EXPLICIT, ("scenario",), GONE, "scenario_invalid", "/scenario", "nothing"),
    ("unknown key", EXPLICIT, ("demands", 0, "thermal_cpa"), CAP, "scenario_invalid", "/demands/0/thermal_cpa", "key"),
    ("text for a number", EXPLICIT, ("demands", 0, "power_demand_w"), "6", "scenario_invalid", "/demands/0", "'6'"),
    ("flag for a number", EXPLICIT, ("demands", 0, "power_demand_w"), True, "scenario_invalid", "/demands/0", "True"),
    ("empty id", EXPLICIT, (*GPU, "gpu_id"), "", "scenario_invalid", "/topology/nodes/0/gpus/0/gpu_id", "''"),
    ("no GPU", EXPLICIT, ("topology", "nodes"), [], "scenario_invalid", "/topology/nodes", "no GPU"),
    ("bad capability", EXPLICIT, ("requires",), ["fast"], "scenario_invalid", "/requires/0", "'fast'"),
    ("capability twice", EXPLICIT, ("requires",), ["thermal_envelope"] * 2, "scenario_invalid", "/requires", "once"),
    (
        "time without zone",
        EXPLICIT,
        ("observed_at",),
        "2026-10-05T12:00:00",
        "scenario_invalid",
        "/observed_at",
        "2026",
    ),
    ("negative clock", EXPLICIT, ("demands", 0, "requested_sm_clock_mhz"), -1, "negative", "/demands/0", "-1"),
    ("negative watts", EXPLICIT, ("demands", 0, "power_demand_w"), -0.1, "negative", "/demands/0", "-0.1"),
    ("negative budget", EXPLICIT, (*GPU, "power_budget_w"), -5, "negative", "/topology/nodes/0/gpus/0", "-5"),
    ("negative temperature", EXPLICIT, (*GPU, "core_temp_c"), -1, "negative", "/topology/nodes/0/gpus/0", "-1"),
    ("negative cap", EXPLICIT, ("demands", 0, "thermal_cap", "sm_clock_mhz"), -1, "negative", "/demands/0", "-1"),
    ("loss above 1", EXPLICIT, (*GPU, "loss"), 1.1, "out_of_range", "/topology/nodes/0/gpus/0/loss", "1.1"),
    ("share above 1", POOLED, ("allocation", "gpus", 0, "share"), 2, "out_of_range", "/allocation/gpus/0/share", "2"),
    ("intensity above 1", POOLED, ("incidents", 0, "intensity"), 1.5, "out_of_range", "/incidents/0", "1.5"),
    (
        "GPU twice",
        EXPLICIT,
        ("topology", "nodes", 0, "gpus", 1),
        EXPLICIT["topology"]["nodes"][0]["gpus"][0],
        "gpu_repeated",
        "/topology/nodes",
        "'a'",
    ),
    (
        "node twice",
        EXPLICIT,
        ("topology", "nodes", 1),
        {"node_id": "n", "gpus": []},
        "node_repeated",
        "/topology",
        "'n'",
    ),
    ("pool twice", POOLED, ("topology", "pools", 1), {"pool": "p"}, "pool_repeated", "/topology/pools", "'p'"),
    ("pool unknown", POOLED, (*GPU, "pool"), "q", "pool_unknown", "/topology/nodes/0/gpus/0/pool", "'q'"),
    (
        "allocation twice",
        POOLED,
        ("allocation", "gpus", 1),
        {"gpu_id": "a", "share": 0},
        "allocation_repeated",
        "/allocation/gpus",
        "'a'",
    ),
    (
        "allocation unknown",
        POOLED,
        ("allocation", "gpus", 1),
        {"gpu_id": "z", "share": 0},
        "allocation_unknown_gpu",
        "/allocation/gpus",
        "'z'",
    ),
    ("allocation lacks one", POOLED, ("allocation", "gpus"), [], "allocation_missing_gpu", "/allocation/gpus", "'a'"),
    ("no allocation", POOLED, ("allocation",), GONE, "allocation_missing", "/allocation", "no allocation"),
    ("demand twice", EXPLICIT, ("demands", 1), DEMAND, "demand_repeated", "/demands", "'a'"),
    ("demand of nobody", EXPLICIT, ("demands", 1), DEMAND | {"gpu_id": "z"}, "demand_unknown_gpu", "/demands", "'z'"),
    ("demand lacks one", EXPLICIT, ("topology", "nodes", 0, "gpus", 1), OTHER, "demand_missing_gpu", "/demands", "'b'"),
    (
        "demand lacks an unavailable one",
        EXPLICIT,
        ("topology", "nodes", 0, "gpus", 1),
        OTHER | {"is_available": False},
        "demand_missing_gpu",
        "/demands",
        "'b'",
    ),
    ("no demand at all", EXPLICIT, ("demands",), [], "demand_missing_gpu", "/demands", "'a'"),
    ("demand beside a pool", POOLED, ("demands",), [DEMAND], "demand_twice", "/demands/0", "'p'"),
    (
        "half a cap",
        EXPLICIT,
        ("demands", 0, "thermal_cap"),
        {"sm_clock_mhz": 1},
        "cap_incomplete",
        "/demands/0/thermal_cap",
        "memory_clock_mhz",
    ),
    (
        "cap above",
        EXPLICIT,
        ("demands", 0, "thermal_cap", "sm_clock_mhz"),
        1980.5,
        "cap_above_request",
        "/demands/0/thermal_cap/sm_clock_mhz",
        "1980.5",
    ),
    (
        "pool's cap above",
        POOLED,
        (*POOL, "power_cap"),
        {"sm_clock_mhz": 1, "memory_clock_mhz": 2620},
        "cap_above_request",
        "/topology/pools/0/operating/constraints/power_cap/memory_clock_mhz",
        "2620",
    ),
    ("idle above full", POOLED, (*POOL, "idle_power_w"), 601, "power_order", "/topology/pools/0", "601"),
    ("full above fault", POOLED, (*POOL, "power_fault_demand_w"), 599, "power_order", "/topology/pools/0", "599"),
    (
        "other driver",
        EXPLICIT,
        (*GPU, "driver_version"),
        "590.48.01",
        "driver_mismatch",
        "/topology/nodes/0",
        "590.48.01",
    ),
    ("incident on nobody", POOLED, ("incidents", 0, "node_id"), "z", "incident_unknown_target", "/incidents/0", "'z'"),
    (
        "incident without projection",
        EXPLICIT,
        ("incidents",),
        [{"incident": "gpu_power_constraint", "gpu_id": "a", "intensity": 1}],
        "incident_without_projection",
        "/incidents/0",
        "'a'",
    ),
    (
        "incident without fault demand",
        POOLED,
        (*POOL, "power_fault_demand_w"),
        GONE,
        "incident_without_projection",
        "/incidents/0",
        "power_fault_demand_w",
    ),
    ("incident on two", POOLED, ("incidents", 0, "gpu_id"), "a", "scenario_invalid", "/incidents/0", "exactly one"),
    (
        "fault of nobody",
        EXPLICIT,
        ("fault_worst_cases",),
        [{"fault": "f", "gpu_id": "z", "core_temp_c": 90}],
        "fault_unknown_target",
        "/fault_worst_cases/0",
        "'z'",
    ),
]


@pytest.mark.parametrize(
    ("name", "base", "place", "value", "code", "pointer", "said"), REFUSED, ids=[r[0] for r in REFUSED]
)
def test_refused_whole(
    name: str, base: dict[str, Any], place: tuple[str | int, ...], value: Any, code: str, pointer: str, said: str
) -> None:
    document = changed(base, place, value)
    parsed = parse(document)
    assert name
    assert parsed.quarantine == parsed.issues[0].code == code
    assert (parsed.issues[0].subject or "").startswith(pointer)
    assert said in parsed.issues[0].message
    assert "expected" in parsed.issues[0].message
    assert parsed.tables == {}
    assert parsed.ledger.refused == parsed.ledger.total == leaves(document)


@pytest.mark.parametrize("at", [0, "1700000000", "2026-10-05", "2026-10-05T12:00:00"])
def test_a_time_is_spelled_out_with_its_zone(at: Any) -> None:
    assert parse(changed(EXPLICIT, ("observed_at",), at)).issues[0].subject == "/observed_at"


def test_a_negative_loss_is_out_of_its_range() -> None:
    assert parse(changed(EXPLICIT, (*GPU, "loss"), -1)).quarantine == "out_of_range"


def test_an_integer_of_5000_digits_given_in_python_is_refused() -> None:
    remarks = Remarks()
    scenario.rows(changed(EXPLICIT, ("demands", 0, "power_demand_w"), 10**5000), remarks)
    assert remarks.issues[0].subject == "/demands/0/power_demand_w"


def test_every_fault_is_named() -> None:
    document = changed(changed(EXPLICIT, ("demands", 0, "power_demand_w"), -1), (*GPU, "loss"), 7)
    assert [issue.code for issue in parse(document).issues] == ["out_of_range", "negative"]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (b'{"format": "gpu-evidence/scenario/1",\n "scenario": }', "json_malformed", 2),
        (b'{"a": 1, "a": 1}', "json_malformed", None),
        (b'{"a": NaN}', "json_malformed", None),
        (b'{"a": "\\ud800"}', "json_malformed", None),
        (b"[" * 100_000, "json_malformed", None),
        (b"[]", "json_malformed", None),
        (b"", "json_malformed", 1),
    ],
)
def test_what_is_not_json(text: bytes, code: str, line: int | None) -> None:
    parsed = scenario.parse(text, FACTS)
    assert (parsed.quarantine, parsed.issues[0].line) == (code, line)


@pytest.mark.parametrize("number", ["1e999", "-1e999"])
def test_numbers_that_are_not_finite(number: str) -> None:
    text = json.dumps(EXPLICIT).replace('"power_demand_w": 600', f'"power_demand_w": {number}')
    assert scenario.parse(text.encode(), FACTS).issues[0].code in ("not_finite", "negative")


def test_a_number_of_400_digits_is_refused_and_not_met_as_an_error_of_ours() -> None:
    text = json.dumps(EXPLICIT).replace('"power_demand_w": 600', f'"power_demand_w": {"9" * 400}')
    assert scenario.parse(text.encode(), FACTS).quarantine in ("not_finite", "scenario_invalid")


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_bytes(data: bytes) -> None:
    try:
        parsed = scenario.parse(data, FACTS)
    except CaptureError:
        return
    assert parsed.ledger.is_whole


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from([EXPLICIT, POOLED]), st.data(), JSON)
@settings(max_examples=200, deadline=None)
def test_any_change_is_accepted_or_refused_whole(base: dict[str, Any], data: st.DataObject, value: Any) -> None:
    place: list[str | int] = []
    part: Any = base
    while isinstance(part, (dict, list)) and part and (not place or data.draw(st.booleans())):
        key: Any = data.draw(st.sampled_from(sorted(part) if isinstance(part, dict) else range(len(part))))
        place.append(key)
        part = part[key]
    parsed = parse(changed(base, tuple(place), value))
    assert parsed.ledger.is_whole
    assert bool(parsed.issues) == (parsed.quarantine is not None) == (parsed.tables == {})
