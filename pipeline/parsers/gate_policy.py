"""Policies of a perf gate (JSON, format gpu-evidence/gate_policy/1).

What a policy leaves out is as in the built-in default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import pydantic

from pipeline import json_document
from pipeline.json_document import Number, Part, Text
from schemas.hashes import canonical_json, sha256

if TYPE_CHECKING:
    from pipeline.parsed import CaptureFacts, Parsed, Remarks

FORMAT = "gpu-evidence/gate_policy/1"
TABLES = ("gate_policies",)

_Whole = Annotated[int, pydantic.Field(strict=True, ge=0, le=1_000_000)]
_Margin = Annotated[float, pydantic.Field(strict=True, ge=1, le=100, allow_inf_nan=False)]
_Level = Annotated[float, pydantic.Field(strict=True, gt=0, le=0.5, allow_inf_nan=False)]


class _Margins(Part):
    compute: _Margin | None = None
    end_to_end: _Margin | None = None
    short: _Margin | None = None


class _Short(Part):
    below_ms: Number | None = None
    min_rounds: _Whole | None = None


class _Lock(Part):
    sm_clock_tolerance_mhz: _Whole | None = None
    memory_clock_tolerance_mhz: _Whole | None = None
    busy_above_pct: Annotated[float, pydantic.Field(strict=True, ge=0, lt=100)] | None = None
    min_busy_samples: Annotated[int, pydantic.Field(strict=True, ge=1, le=1_000_000)] | None = None
    gap_max_periods: Annotated[float, pydantic.Field(strict=True, ge=1, allow_inf_nan=False)] | None = None
    criteria: tuple[Literal["gap", "dropped_lines", "counters"], ...] | None = None
    foreign_cpu_limit_cores: Number | None = None
    power_at_limit_w: Number | None = None


class _Policy(Part):
    format: Literal["gpu-evidence/gate_policy/1"]
    policy: Text
    mode: Literal["strict", "lenient"] | None = None
    alpha: _Level | None = None
    min_rounds: _Whole | None = None
    margins: _Margins = _Margins()
    short: _Short = _Short()
    lock: _Lock = _Lock()
    ladder: Annotated[tuple[Literal["boost", "base"], ...], pydantic.Field(min_length=1)] | None = None


def parse(data: bytes, _facts: CaptureFacts) -> Parsed:
    """Read a policy; see the module for the rules."""
    return json_document.parse(data, TABLES, rows)


def detect(head: bytes) -> bool:
    """Whether the document names the format."""
    return json_document.has_format(head, FORMAT)


def rows(document: dict[str, Any], remarks: Remarks) -> dict[str, list[dict[str, Any]]]:
    """The one row of a policy; none, and remarks, where the document has a fault."""
    made = json_document.check(_Policy, document, "gate_policy_invalid", remarks)
    if made is None:
        return {}
    if made.ladder is not None and len(set(made.ladder)) != len(made.ladder):
        message = "found a lock more than once at /ladder, expected each once; correct it"
        remarks.add("error", "gate_policy_invalid", message, None, "/ladder")
        return {}
    row = {
        "capture_pointer": "",
        "policy": made.policy,
        "policy_sha256": sha256(canonical_json(document)),
        "mode": made.mode,
        "alpha": made.alpha,
        "margin_compute": made.margins.compute,
        "margin_end_to_end": made.margins.end_to_end,
        "margin_short": made.margins.short,
        "short_below_ms": made.short.below_ms,
        "short_min_rounds": made.short.min_rounds,
        "min_rounds": made.min_rounds,
        **made.lock.model_dump(exclude={"criteria"}),
        "criteria": None if made.lock.criteria is None else " ".join(made.lock.criteria),
        "ladder": " ".join(made.ladder) if made.ladder else None,
    }
    return {"gate_policies": [row]}
