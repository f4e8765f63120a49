"""Clock constraints from Python: plain records or Arrow tables in, the same SQL as for captures, fresh values out.

Nothing is written and nothing that is given is changed. What is refused as a captured scenario is refused here, with
the same words. Profiles come from captures: those bundled with the project, or the ones below given paths.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from pipeline import captures as files
from pipeline import database, json_document, parse_pool, segments
from pipeline.errors import AdmissionError, AdmissionUnknownError, ScenarioError, UsageError
from pipeline.parsed import Ledger, Remarks
from pipeline.parsers import scenario
from schemas import TABLES, arrow_schema
from schemas.hashes import canonical_json, sha256

if TYPE_CHECKING:
    from collections.abc import Sequence

BUNDLED = Path(__file__).parents[1] / "captures"
_POINTS = "SELECT * EXCLUDE (capture_id, capture_sha256) FROM clock_constraints ORDER BY position"
_DEMANDS = "SELECT * EXCLUDE (capture_id, capture_sha256) FROM clock_demands ORDER BY position"
_ADMISSIONS = """
SELECT * EXCLUDE (capture_id, capture_sha256)
FROM fault_admissions
WHERE capability = 'gpu_fault_profile'
ORDER BY position
"""
_ONE_AT_A_TIME = Lock()


def constraint_points(
    topology: Any, allocation: Any, demands: Any, evidence: Sequence[Path] | None = None, observed_at: str | None = None
) -> list[dict[str, Any]] | pa.Table:
    """Rows of clock_constraints for explicit demands: one per GPU, in physical order."""
    topology_ = _topology(topology)
    for pool in topology_.get("pools", []):
        if isinstance(pool, dict) and isinstance(pool.get("operating"), dict):
            pool["operating"].pop("constraints", None)  # the demands given are the ones that count
    document = {"topology": topology_, "allocation": _allocation(allocation), "demands": _demands(demands)}
    found = _ask(document, _POINTS, evidence, observed_at)
    return _as_given(found, topology)


def constraint_demands(
    topology: Any, allocation: Any, incidents: Any = None, evidence: Sequence[Path] | None = None
) -> list[dict[str, Any]] | pa.Table:
    """Rows of clock_demands, projected from the shared allocation by the operating.constraints of the pools."""
    document = {
        "topology": _topology(topology),
        "allocation": _allocation(allocation),
        "incidents": _records(incidents or []),
    }
    found = _ask(document, _DEMANDS, evidence)
    return _as_given(found, topology)


def require_gpu_fault_profile(
    topology: Any, fault_worst_cases: Any, evidence: Sequence[Path] | None = None
) -> list[dict[str, Any]] | pa.Table:
    """Rows of fault_admissions for gpu_fault_profile; raises AdmissionError for the first GPU that is not admitted."""
    document = {"topology": _topology(topology), "fault_worst_cases": _records(fault_worst_cases)}
    found = _ask(document, _ADMISSIONS, evidence)
    for verdict, error in (("fail", AdmissionError), ("indeterminate", AdmissionUnknownError)):
        for row in found.to_pylist():
            if row["verdict"] == verdict:
                told = (
                    "" if row["observed_c"] is None else f": found {row['observed_c']:g} C against {row['limit_c']:g} C"
                )
                message = f"gpu_fault_profile is not admitted, {row['reason_code']}{told}"
                raise error(message, code="not_admitted", where=f"GPU {row['gpu_id']}")
    return _as_given(found, topology)


def profile(product: str, driver_version: str, evidence: Sequence[Path] | None = None) -> dict[str, Any] | None:
    """The accepted profile of a product and exact driver version; None where there is none. A fresh value each time."""
    query = "SELECT * FROM contract_profiles WHERE status = 'accepted' ORDER BY product, driver_version"
    for row in _rows({}, query, evidence).to_pylist():
        if (row["product"], row["driver_version"]) == (product, driver_version):
            return dict(row)
    return None


def _records(given: Any) -> list[dict[str, Any]]:
    rows = given.to_pylist() if isinstance(given, pa.Table) else given
    if not isinstance(rows, (list, tuple)) or not all(isinstance(row, dict) for row in rows):
        message = f"found {type(given).__name__}, expected an Arrow table or a list of records; give one"
        raise ScenarioError(message, code="scenario_invalid", where="argument")
    return [_said(row) for row in rows]


def _said(value: Any) -> Any:
    """A deep copy without the keys that say nothing: an Arrow column is NULL where a record has no such key."""
    if isinstance(value, dict):
        return {key: _said(part) for key, part in value.items() if part is not None}
    return [_said(part) for part in value] if isinstance(value, (list, tuple)) else value


def _topology(given: Any) -> dict[str, Any]:
    """A topology as in a scenario; flat records (with node_id) are GPUs in physical order."""
    if isinstance(given, dict):
        return dict(_said(given))
    nodes: list[dict[str, Any]] = []
    for row in _records(given):
        node = row.pop("node_id", None)
        if not nodes or nodes[-1].get("node_id") != node:
            nodes.append({"node_id": node, "gpus": []})
        nodes[-1]["gpus"].append(row)
    return {"nodes": nodes}


def _allocation(given: Any) -> dict[str, Any] | None:
    if given is None or isinstance(given, dict):
        return None if given is None else dict(_said(given))
    rows = _records(given)
    sources = sorted({str(row.pop("provenance")) for row in rows if "provenance" in row})
    return {"gpus": rows, **({"provenance": ", ".join(sources)} if sources else {})}


_DEMAND = ("gpu_id", "driver_version", "requested_sm_clock_mhz", "requested_memory_clock_mhz", "power_demand_w")


def _demands(given: Any) -> list[dict[str, Any]]:
    """Explicit demands; rows of constraint_demands are taken as they come, with their caps in columns."""
    found = []
    for row in _records(given):
        if "demand_basis" not in row:
            found.append(row)
            continue
        demand = {name: row[name] for name in (*_DEMAND, "idle_power_w") if name in row}
        for cap in ("thermal_cap", "power_cap"):
            clocks = {
                name: row[f"{cap}_{name}"] for name in ("sm_clock_mhz", "memory_clock_mhz") if f"{cap}_{name}" in row
            }
            demand |= {cap: clocks} if clocks else {}
        found.append(demand)
    return found


def _ask(
    parts: dict[str, Any], query: str, evidence: Sequence[Path] | None, observed_at: str | None = None
) -> pa.Table:
    document = {"format": scenario.FORMAT, "scenario": "api"} | {
        key: part for key, part in parts.items() if part is not None
    }
    if observed_at is not None:
        document["observed_at"] = observed_at
    remarks = Remarks()
    rows = scenario.rows(document, remarks)
    if remarks.issues:
        more = f" (and {len(remarks.issues) - 1} more)" if len(remarks.issues) > 1 else ""
        first = remarks.issues[0]
        raise ScenarioError(f"{first.message}{more}", code=first.code, where=first.subject or "scenario")
    return _rows({name: json_document.table(name, rows[name]) for name in scenario.TABLES}, query, evidence)


def _rows(tables: dict[str, pa.Table], query: str, evidence: Sequence[Path] | None) -> pa.Table:
    """Ask the views over the evidence and one scenario; a scenario outside of a supported profile is refused."""
    with _ONE_AT_A_TIME:
        asked = _database((BUNDLED,) if evidence is None else tuple(evidence))
        stamped = segments.joined([segments.Item(_CAPTURE, tables, [], Ledger())])
        for name in scenario.TABLES:
            asked.connection.register(
                f"_{name}", ds.dataset(stamped.get(name, arrow_schema(TABLES[name]).empty_table()))
            )
        refusals = "SELECT detail, capture_pointer FROM scenario_refusals ORDER BY position, bound"
        for row in asked.rows(refusals).to_pylist() if tables else []:
            raise ScenarioError(row["detail"], code="outside_profile", where=row["capture_pointer"])
        return asked.rows(query)


_ID = sha256(canonical_json("a scenario given in Python"))
_CAPTURE = {"capture_id": _ID, "capture_sha256": _ID}


@cache
def _database(evidence: tuple[Path, ...]) -> database.Database:
    """The views over what the captures below the paths say, scenarios left out. Made once: the files are read once."""
    for path in evidence:
        if not path.exists():
            message = "no captures there; name those that profiles follow from (evidence=[...])"
            raise UsageError(message, code="no_such_path", where=str(path))
    captures = (files.load(shown, file) for shown, file in files.find(evidence))
    group = [segments.Item.of(capture, parse_pool.parse_capture(capture)) for capture in captures]
    found = dict(segments.tables(group))
    tables = {name: found.get(name, arrow_schema(schema).empty_table()) for name, schema in TABLES.items()}
    return database.over({name: ds.dataset(table) for name, table in tables.items()})


def _as_given(found: pa.Table, given: Any) -> list[dict[str, Any]] | pa.Table:
    """Arrow for Arrow, plain records for plain records."""
    return found if isinstance(given, pa.Table) else found.to_pylist()
