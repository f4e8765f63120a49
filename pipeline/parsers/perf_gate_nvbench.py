"""Placeholder while the importers are written side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.parsed import CaptureFacts, Parsed, Remarks

FORMAT = "gpu-evidence/gate_record/1"


def is_mine(document: dict[str, Any]) -> bool:
    return False


def rows(document: dict[str, Any], remarks: Remarks, facts: CaptureFacts) -> dict[str, list[dict[str, Any]]]:
    return {}


def is_side_file(data: bytes) -> bool:
    return False


def side_file(data: bytes, facts: CaptureFacts) -> Parsed:
    raise NotImplementedError
