"""Perf-gate records (JSON): our own format, the published dyng shapes, and benchmark results of other tools.

The shape is told by structure, never by a number that the record gives itself: three shapes call themselves schema 1.
A record is accepted or refused as a whole. A bare NaN is read as null; Infinity and duplicate keys are refused.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from pipeline import json_document
from pipeline.parsers import perf_gate_dyng, perf_gate_nvbench, perf_gate_record, perf_gate_tools

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.parsed import CaptureFacts, Parsed, Remarks

    Rows = dict[str, list[dict[str, Any]]]
    Reader = Callable[[dict[str, Any], Remarks, CaptureFacts], Rows]

TABLES = (
    "gate_records",
    "gate_cases",
    "gate_readings",
    "gate_rounds",
    "gate_rejections",
    "gate_windows",
    "gate_regions",
    "gate_samples",
    "gate_assertions",
)
READERS: tuple[tuple[Callable[[dict[str, Any]], bool], Reader], ...] = (
    (perf_gate_record.is_mine, perf_gate_record.rows),
    (perf_gate_dyng.is_mine, perf_gate_dyng.rows),
    (perf_gate_nvbench.is_mine, perf_gate_nvbench.rows),
    (perf_gate_tools.is_google_benchmark, perf_gate_tools.google_benchmark),
    (perf_gate_tools.is_hyperfine, perf_gate_tools.hyperfine),
    (perf_gate_tools.is_pytest_benchmark, perf_gate_tools.pytest_benchmark),
)
"""Whether a document has a shape, and how it is read; the first that has it reads it."""


def parse(data: bytes, facts: CaptureFacts) -> Parsed:
    """Read a record of any shape, or a binary side file of NVBench; see the module for the rules."""
    if perf_gate_nvbench.is_side_file(data):
        return perf_gate_nvbench.side_file(data, facts)
    return json_document.parse(data, TABLES, partial(_rows, facts=facts), is_foreign=True)


_KEYS = (
    (b"algorithm", b"reference", b"protocol"),
    (b"devices", b"benchmarks"),
    (b"benchmarks", b"real_time"),
    (b"benchmarks", b"run_type"),
    (b"results", b"command", b"mean"),
    (b"results", b"command", b"times"),
    (b"benchmarks", b"fullname"),
    (b"fullname", b"stats"),
)


def detect(head: bytes) -> bool:
    """Whether the head of a JSON object has the keys of one of the shapes."""
    if json_document.has_format(head, perf_gate_record.FORMAT):
        return True
    if not re.match(rb"\s*\{", head):
        return False
    return any(all(b'"%b"' % key in head for key in keys) for keys in _KEYS)


def _rows(document: dict[str, Any], remarks: Remarks, facts: CaptureFacts) -> Rows:
    for is_mine, read in READERS:
        if is_mine(document):
            return read(document, remarks, facts)
    found = ", ".join(sorted(document))[:200]
    message = f"found an object with keys {found}, expected one of the shapes of a perf-gate record; see the README"
    remarks.add("error", "shape_unknown", message)
    return {}
