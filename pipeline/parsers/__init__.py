"""KINDS, the one registry of capture kinds: how a capture is recognised and read, and which tables it fills.

Adding a kind is one parser file, one line here, and a capture with its expected rows under tests/corpus.
Recognition goes in this order; the first kind that recognises the head of a capture reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.parsers import (
    dcgm_counters,
    dcgm_header,
    decision,
    gate_policy,
    perf_gate,
    scenario,
    smi_csv,
    smi_list,
    smi_mig,
    smi_query,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.parsed import CaptureFacts, Parsed


@dataclass(frozen=True)
class Kind:
    """A capture kind: what it is, its parser, its recogniser (of the first 64 KiB, as UTF-8) and its tables."""

    what: str
    parse: Callable[[bytes, CaptureFacts], Parsed]
    detect: Callable[[bytes], bool]
    tables: tuple[str, ...]


KINDS: dict[str, Kind] = {
    "decision": Kind("a person's acceptance (JSON)", decision.parse, decision.detect, decision.TABLES),
    "scenario": Kind("an operator's scenario (JSON)", scenario.parse, scenario.detect, scenario.TABLES),
    "gate_policy": Kind("rules of a perf gate (JSON)", gate_policy.parse, gate_policy.detect, gate_policy.TABLES),
    "perf_gate": Kind("a perf-gate or benchmark record (JSON)", perf_gate.parse, perf_gate.detect, perf_gate.TABLES),
    "dcgm_header": Kind("a dcgm_fields.h", dcgm_header.parse, dcgm_header.detect, ("dcgm_fields",)),
    "dcgm_counters": Kind("a dcgm-exporter catalogue", dcgm_counters.parse, dcgm_counters.detect, ("dcgm_counters",)),
    "smi_query": Kind("nvidia-smi -q, text or XML", smi_query.parse, smi_query.detect, ("gpu_query",)),
    "smi_mig": Kind("nvidia-smi mig -lgi and -lci tables", smi_mig.parse, smi_mig.detect, ("mig_instances",)),
    "smi_list": Kind("nvidia-smi -L", smi_list.parse, smi_list.detect, ("gpu_list", "mig_devices")),
    "smi_csv": Kind("nvidia-smi --query-gpu CSV", smi_csv.parse, smi_csv.detect, ("gpu_readings", "gpu_extra")),
}
