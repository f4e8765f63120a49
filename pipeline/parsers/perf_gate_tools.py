"""Placeholder while the importers are written side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.parsed import CaptureFacts, Remarks


def is_google_benchmark(document: dict[str, Any]) -> bool:
    return False


is_hyperfine = is_pytest_benchmark = is_google_benchmark


def google_benchmark(
    document: dict[str, Any], remarks: Remarks, facts: CaptureFacts
) -> dict[str, list[dict[str, Any]]]:
    return {}


hyperfine = pytest_benchmark = google_benchmark
