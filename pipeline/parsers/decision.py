"""Decisions (JSON, format gpu-evidence/decision/1): decisions, decision_claims and gate_claims.

A decision is what a person accepted, never rewritten, only superseded by a later one that names it. What it pins is for
one product and one exact driver version.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pydantic

from pipeline import json_document
from pipeline.json_document import Number, Part, Text
from schemas.hashes import canonical_json, sha256

if TYPE_CHECKING:
    from pipeline.parsed import CaptureFacts, Parsed, Remarks

FORMAT = "gpu-evidence/decision/1"
TABLES = ("decisions", "decision_claims", "gate_claims")
UNITS = {
    "sm_clock_max_mhz": "MHz",
    "memory_clock_max_mhz": "MHz",
    "power_limit_min_w": "W",
    "power_limit_max_w": "W",
    "core_slowdown_c": "C",
    "core_shutdown_c": "C",
    "core_reference_c": "C",
}
_ORDER = (
    ("power_limit_min_w", "power_limit_max_w"),
    ("core_reference_c", "core_slowdown_c"),
    ("core_slowdown_c", "core_shutdown_c"),
    ("core_reference_c", "core_shutdown_c"),
)


def _spelled_out(value: Any) -> Any:
    """A bare number is no day: not guessed."""
    if value is None or (isinstance(value, str) and _DAY.fullmatch(value)):
        return value
    raise ValueError("a day as YYYY-MM-DD")


_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_Day = Annotated[date, pydantic.BeforeValidator(_spelled_out)]
_Id = Annotated[int, pydantic.Field(strict=True, ge=0, le=2**31 - 1)]


class _Subject(Part):
    product: Text
    driver_version: Annotated[str, pydantic.Field(strict=True, pattern=r"^[0-9]+(\.[0-9]+)+$")]


class _Field(Part):
    field_name: Text
    field_id: _Id | None = None
    smi_field: Text | None = None
    use: Text | None = None


class _Evidence(Part):
    sha256: Annotated[str, pydantic.Field(strict=True, pattern="^[0-9a-f]{64}$")]
    what: Text | None = None


class _GateReading(Part):
    case: Text
    lock: Literal["boost", "base"]


class _Claim(Part):
    case: Text
    region: Text | None = None
    scope: Text | None = None
    lock: Literal["boost", "base", "none"] | None = None
    quantity: Literal[
        "ratio_of_medians",
        "baseline_ms",
        "candidate_ms",
        "rounds_accepted",
        "rounds_rejected",
        "locked_sm_clock_mhz",
        "locked_memory_clock_mhz",
        "power_limit_w",
    ] = "ratio_of_medians"
    value: Number
    digits: Annotated[int, pydantic.Field(strict=True, ge=0, le=12)]
    record_sha256: Annotated[str, pydantic.Field(strict=True, pattern="^[0-9a-f]{64}$")] | None = None
    text: Text | None = None


class _Decision(Part):
    format: Literal["gpu-evidence/decision/1"]
    decision: Text
    contract: Text | None = None
    revision: _Id | None = None
    subject: _Subject | None = None
    status: Literal["accepted", "proposed", "rejected"]
    decided_on: _Day | None = None
    decided_by: Text | None = None
    captured_on: _Day | None = None
    supersedes: tuple[Text, ...] = ()
    tools: dict[Text, Text] = pydantic.Field(default_factory=dict)
    bounds: dict[str, Number] = pydantic.Field(default_factory=dict)
    fields: tuple[_Field, ...] = ()
    evidence: tuple[_Evidence, ...] = ()
    gate_readings: tuple[_GateReading, ...] = ()
    claims: tuple[_Claim, ...] = ()
    interpretation: Text | None = None
    text: Text | None = None


def parse(data: bytes, _facts: CaptureFacts) -> Parsed:
    """Read a decision; see the module for the rules."""
    return json_document.parse(data, TABLES, rows)


def detect(head: bytes) -> bool:
    """Whether the document names the format."""
    return json_document.has_format(head, FORMAT)


def rows(document: dict[str, Any], remarks: Remarks) -> dict[str, list[dict[str, Any]]]:
    """Rows of both tables; none, and remarks, where the document has a fault."""
    made = json_document.check(_Decision, document, "decision_invalid", remarks)
    if made is None:
        return {}
    _check(made, remarks)
    if remarks.issues:
        return {}
    subject = made.subject
    row = {
        "capture_pointer": "",
        "decision_id": made.decision,
        "decision_sha256": sha256(canonical_json(document)),
        "contract": made.contract,
        "revision": made.revision,
        "product": subject.product if subject else None,
        "driver_version": subject.driver_version if subject else None,
        "status": made.status,
        "decided_on": made.decided_on,
        "decided_by": made.decided_by,
        "captured_on": made.captured_on,
        "interpretation": made.interpretation,
        "text": made.text,
    }
    named = {"decisions": [row], "decision_claims": _claims(made), "gate_claims": _numbers(made)}
    return {name: [{"decision_id": made.decision, **part} for part in parts] for name, parts in named.items()}


def _claims(made: _Decision) -> list[dict[str, Any]]:
    def claim(kind: str, place: tuple[str | int, ...], name: str, **rest: Any) -> dict[str, Any]:
        return {"capture_pointer": json_document.to_pointer(place), "claim_kind": kind, "name": name, **rest}

    return [
        *(
            claim("bound", ("bounds", name), name, value_number=float(value), unit=UNITS[name])
            for name, value in made.bounds.items()
        ),
        *(
            claim(
                "field",
                ("fields", at),
                used.field_name,
                field_id=used.field_id,
                smi_field=used.smi_field,
                value_text=used.use,
            )
            for at, used in enumerate(made.fields)
        ),
        *(
            claim("evidence", ("evidence", at), item.sha256, value_text=item.what)
            for at, item in enumerate(made.evidence)
        ),
        *(claim("tool", ("tools", name), name, value_text=version) for name, version in made.tools.items()),
        *(claim("supersedes", ("supersedes", at), name) for at, name in enumerate(made.supersedes)),
        *(
            claim("gate_reading", ("gate_readings", at), reading.case, value_text=reading.lock)
            for at, reading in enumerate(made.gate_readings)
        ),
    ]


def _numbers(made: _Decision) -> list[dict[str, Any]]:
    """Numbers that the decision states of perf gates."""
    same = ("region", "scope", "quantity", "value", "digits", "record_sha256", "text")
    return [
        {
            "capture_pointer": f"/claims/{at}",
            "case_id": claim.case,
            "lock_name": claim.lock,
            **{name: getattr(claim, name) for name in same},
        }
        for at, claim in enumerate(made.claims)
    ]


def _check(made: _Decision, remarks: Remarks) -> None:
    def fault(pointer: str, message: str) -> None:
        remarks.add("error", "decision_invalid", f"found {message}; correct it", None, pointer)

    for name in made.bounds:
        if name not in UNITS:
            fault(f"/bounds/{name}", f"bound {name[:80]!r} at /bounds, expected one of {', '.join(UNITS)}")
    for low, high in _ORDER:
        if low in made.bounds and high in made.bounds and made.bounds[low] > made.bounds[high]:
            both = f"{low} {made.bounds[low]:g} above {high} {made.bounds[high]:g}"
            fault(f"/bounds/{low}", f"{both} at /bounds, expected it not above")
    if made.bounds and made.subject is None:
        fault("/bounds", "bounds without a subject, expected the product and driver that they are for")
    if made.decision in made.supersedes:
        fault("/supersedes", f"{made.decision!r} at /supersedes, expected another decision than itself")
    for key, names in (("supersedes", made.supersedes), ("fields", [used.field_name for used in made.fields])):
        for name in sorted({name for name in names if names.count(name) > 1}):
            fault(f"/{key}", f"{name[:80]!r} more than once at /{key}, expected it once")
