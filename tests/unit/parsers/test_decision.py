"""Decisions: what is refused, and by which words; equal content has one hash whatever its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import CaptureError
from pipeline.parsed import CaptureFacts, Parsed
from pipeline.parsers import decision

FACTS = CaptureFacts()
BASE: dict[str, Any] = {
    "format": "gpu-evidence/decision/1",
    "decision": "d",
    "status": "accepted",
    "subject": {"product": "h100_sxm_80gb", "driver_version": "595.91.07"},
}


def parse(document: Any) -> Parsed:
    return decision.parse(json.dumps(document).encode(), FACTS)


def test_equal_content_has_one_hash() -> None:
    turned = json.dumps(dict(reversed(BASE.items())), indent=3).encode()
    hashes = {
        parsed.tables["decisions"]["decision_sha256"][0].as_py()
        for parsed in (parse(BASE), decision.parse(turned, FACTS))
    }
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("changes", "pointer", "said"),
    [
        ({"status": "maybe"}, "/status", "'maybe'"),
        ({"decision": ""}, "/decision", "''"),
        ({"bounds": {"hbm_limit_c": 95}}, "/bounds/hbm_limit_c", "hbm_limit_c"),
        ({"bounds": {"core_slowdown_c": "89"}}, "/bounds/core_slowdown_c", "'89'"),
        ({"bounds": {"power_limit_min_w": 701, "power_limit_max_w": 700}}, "/bounds/power_limit_min_w", "701"),
        ({"bounds": {"core_reference_c": 90, "core_slowdown_c": 89}}, "/bounds/core_reference_c", "90"),
        ({"bounds": {"core_slowdown_c": 96, "core_shutdown_c": 95}}, "/bounds/core_slowdown_c", "96"),
        ({"subject": None, "bounds": {"core_slowdown_c": 89}}, "/bounds", "subject"),
        ({"gate_readings": [{"case": "c", "lock": "none"}]}, "/gate_readings/0/lock", "'none'"),
        ({"claims": [{"case": "c", "value": 1}]}, "/claims/0/digits", "nothing"),
        ({"claims": [{"case": "c", "value": 1, "digits": 0, "quantity": "speed"}]}, "/claims/0/quantity", "'speed'"),
        ({"claims": [{"case": "c", "value": -1, "digits": 0}]}, "/claims/0/value", "-1"),
        ({"subject": {"product": "x"}}, "/subject/driver_version", "nothing"),
        ({"subject": {"product": "x", "driver_version": "595"}}, "/subject/driver_version", "'595'"),
        ({"supersedes": ["d"]}, "/supersedes", "'d'"),
        ({"supersedes": ["c", "c"]}, "/supersedes", "'c'"),
        ({"fields": [{"field_name": "X"}, {"field_name": "X"}]}, "/fields", "'X'"),
        ({"fields": [{"field_name": "X", "field_id": -1}]}, "/fields/0/field_id", "-1"),
        ({"evidence": [{"sha256": "abc"}]}, "/evidence/0/sha256", "'abc'"),
        ({"decided_on": "yesterday"}, "/decided_on", "'yesterday'"),
        ({"decided_on": 0}, "/decided_on", "0"),
        ({"captured_on": "1700000000"}, "/captured_on", "'1700000000'"),
        ({"extra": 1}, "/extra", "no such key"),
    ],
)
def test_refused(changes: dict[str, Any], pointer: str, said: str) -> None:
    parsed = parse({key: value for key, value in (BASE | changes).items() if value is not None})
    assert parsed.quarantine in ("decision_invalid", "negative")
    assert (parsed.issues[0].subject, said in parsed.issues[0].message) == (pointer, True)
    assert parsed.tables == {}
    assert parsed.ledger.is_whole


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_bytes(data: bytes) -> None:
    try:
        parsed = decision.parse(data, FACTS)
    except CaptureError:
        return
    assert parsed.ledger.is_whole
