"""Decisions (JSON, format gpu-evidence/decision/1): decisions and decision_claims.

A decision is what a person accepted, never rewritten, only superseded by a later one that names it. What it pins is for
one product and one exact driver version.
"""

from __future__ import annotations

from datetime import date  # noqa: TC003 - Pydantic reads the annotation
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pydantic

from pipeline import json_document
from schemas.hashes import canonical_json, sha256

if TYPE_CHECKING:
    from pipeline.parsed import CaptureFacts, Parsed, Remarks

FORMAT = "gpu-evidence/decision/1"
TABLES = ("decisions", "decision_claims")
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

_Text = Annotated[str, pydantic.Field(strict=True, min_length=1)]
_Number = Annotated[float, pydantic.Field(strict=True, ge=0, allow_inf_nan=False)]
_Id = Annotated[int, pydantic.Field(strict=True, ge=0, le=2**31 - 1)]


class _Part(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class _Subject(_Part):
    product: _Text
    driver_version: Annotated[str, pydantic.Field(strict=True, pattern=r"^[0-9]+(\.[0-9]+)+$")]


class _Field(_Part):
    field_name: _Text
    field_id: _Id | None = None
    smi_field: _Text | None = None
    use: _Text | None = None


class _Evidence(_Part):
    sha256: Annotated[str, pydantic.Field(strict=True, pattern="^[0-9a-f]{64}$")]
    what: _Text | None = None


class _Decision(_Part):
    format: Literal["gpu-evidence/decision/1"]
    decision: _Text
    contract: _Text | None = None
    revision: _Id | None = None
    subject: _Subject | None = None
    status: Literal["accepted", "proposed", "rejected"]
    decided_on: date | None = None
    decided_by: _Text | None = None
    captured_on: date | None = None
    supersedes: list[_Text] = []
    tools: dict[_Text, _Text] = {}
    bounds: dict[str, _Number] = {}
    fields: list[_Field] = []
    evidence: list[_Evidence] = []
    interpretation: _Text | None = None
    text: _Text | None = None


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
    return {"decisions": [row], "decision_claims": [{"decision_id": made.decision, **claim} for claim in _claims(made)]}


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
