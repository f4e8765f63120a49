"""Gate policies: what is refused, and by which words; what is left out stays unsaid."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.parsed import CaptureFacts, Parsed
from pipeline.parsers import gate_policy

FACTS = CaptureFacts()
BASE: dict[str, Any] = {"format": "gpu-evidence/gate_policy/1", "policy": "p"}


def parse(document: Any) -> Parsed:
    return gate_policy.parse(json.dumps(document).encode(), FACTS)


@pytest.mark.parametrize(
    ("changes", "pointer", "said"),
    [
        ({"policy": ""}, "/policy", "''"),
        ({"policy": None}, "/policy", "None"),
        ({"mode": "generous"}, "/mode", "'generous'"),
        ({"alpha": 0}, "/alpha", "0"),
        ({"alpha": 0.6}, "/alpha", "0.6"),
        ({"alpha": "0.05"}, "/alpha", "'0.05'"),
        ({"margins": {"compute": 0.99}}, "/margins/compute", "0.99"),
        ({"margins": {"computed": 1.05}}, "/margins/computed", "1.05"),
        ({"lock": {"min_busy_samples": 0}}, "/lock/min_busy_samples", "0"),
        ({"lock": {"busy_above_pct": 100}}, "/lock/busy_above_pct", "100"),
        ({"lock": {"criteria": ["gap", "luck"]}}, "/lock/criteria/1", "'luck'"),
        ({"lock": {"sm_clock_tolerance_mhz": 1.5}}, "/lock/sm_clock_tolerance_mhz", "1.5"),
        ({"ladder": []}, "/ladder", "not empty"),
        ({"ladder": ["boost", "boost"]}, "/ladder", "more than once"),
        ({"ladder": ["none"]}, "/ladder/0", "'none'"),
        ({"marginz": {}}, "/marginz", "{}"),
    ],
)
def test_fault_is_named(changes: dict[str, Any], pointer: str, said: str) -> None:
    parsed = parse(BASE | changes)
    assert parsed.tables == {}
    assert parsed.quarantine in {issue.code for issue in parsed.issues}
    assert parsed.issues[0].subject == pointer
    assert said in parsed.issues[0].message


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999"])
def test_what_is_no_finite_number_is_refused(value: str) -> None:
    text = json.dumps(BASE | {"alpha": 0.01}).replace("0.01", value)
    parsed = gate_policy.parse(text.encode(), FACTS)
    assert parsed.tables == {}
    assert {issue.severity for issue in parsed.issues} == {"error"}


def test_a_duplicate_key_is_refused() -> None:
    text = '{"format": "gpu-evidence/gate_policy/1", "policy": "p", "alpha": 0.01, "alpha": 0.05}'
    parsed = gate_policy.parse(text.encode(), FACTS)
    assert parsed.tables == {}
    assert "'alpha' occurs twice" in parsed.issues[0].message


def test_equal_content_has_one_hash() -> None:
    other = dict(reversed((BASE | {"alpha": 0.01}).items()))
    hashes = {
        parse(document).tables["gate_policies"]["policy_sha256"][0].as_py()
        for document in (BASE | {"alpha": 0.01}, other)
    }
    assert len(hashes) == 1
    assert parse(BASE).tables["gate_policies"]["policy_sha256"][0].as_py() not in hashes
