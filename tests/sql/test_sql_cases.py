"""SQL cases as data: `<view>/<case>.json` holds the rows of the tables and what the view must say.

    {"why": "...", "input": {"<table>": [row, ...]}, "expect": [row, ...], "where": "...", "xfail": "..."}

A row names the columns that matter: the others of an input row are NULL (capture_line counts up), and those of the view
are not compared. A capture that is not described is an accepted one of which nothing else is known. Order does not
matter. `xfail` is the reason why the case fails today.
"""

# ruff: noqa: S608 - queries are put together from names of our own

from __future__ import annotations

import functools
import json
import re
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from pipeline import database
from pipeline.sql import VIEWS
from schemas import TABLES, arrow_schema

SQL = Path(__file__).parent
CASES = sorted(SQL.glob("*/*.json"))
JUDGED = {"captures", "source_errors", "clocks_event_reasons", "device_sightings", "device_facts", "mig_layouts"} | {
    "devices",
    "decisions",
    "profile_observations",
    "profile_bounds",
    "profile_contradictions",
    "contract_profiles",
    "contract_coverage",
    "clock_demands",
    "operating_points",
    "scenario_refusals",
    "clock_constraints",
    "fault_admissions",
    "gate_policy",
    "gate_windows",
    "gate_rounds",
    "gate_readings",
    "gate_clocks",
    "gate_pairs",
    "gate_regions",
    "gate_verdicts",
    "gate_mismatches",
    "gate_claims",
    "acceptance",
}


def table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows with the full schema of a table."""
    schema = arrow_schema(TABLES[name])
    known = set(schema.names)
    for row in rows:
        assert set(row) <= known, set(row) - known
    columns = []
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        cells = [row.get(field.name) for row in rows]
        if pa.types.is_timestamp(kind):
            cells = [None if cell is None else datetime.fromisoformat(cell) for cell in cells]
        elif pa.types.is_date(kind):
            cells = [None if cell is None else date.fromisoformat(cell) for cell in cells]
        column = pa.array(cells, kind)
        columns.append(column.dictionary_encode().cast(field.type) if kind is not field.type else column)
    fields = [field.with_nullable(nullable=True) for field in schema]
    return pa.table(columns, schema=pa.schema(fields))


def place(name: str, line: int) -> dict[str, Any]:
    """Where a row was read: lines count up; JSON has places, not lines."""
    if name == "source_errors":
        return {}
    return {"capture_pointer": ""} if "capture_pointer" in arrow_schema(TABLES[name]).names else {"capture_line": line}


def complete(given: dict[str, list[dict[str, Any]]]) -> dict[str, pa.Table]:
    """Every table, with the captures that the rows name."""
    named = {row["capture_id"] for rows in given.values() for row in rows}
    described = {row["capture_id"] for row in given.get("captures", [])}
    captures = [*given.get("captures", []), *({"capture_id": name} for name in sorted(named - described))]
    base = {"status": "accepted", "counted": "lines"}
    captures = [
        base | {"path": f"{row['capture_id']}.txt", "capture_sha256": f"sha-{row['capture_id']}"} | row
        for row in captures
    ]
    filled: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES} | {"captures": captures}
    for name, rows in given.items():
        if name != "captures":
            filled[name] = [
                place(name, line) | {"capture_sha256": f"sha-{row['capture_id']}"} | row
                for line, row in enumerate(rows, start=1)
            ]
    return {name: table(name, rows) for name, rows in filled.items()}


@functools.cache
def needed(view: str) -> list[str]:
    """Views that a view reads, directly or not, in their order: the others only cost time."""
    text = (database._SQL / f"{view}.sql").read_text("utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    read = {other for other in VIEWS[: VIEWS.index(view)] if re.search(rf"\b{other.rsplit('/', 1)[-1]}\b", code)}
    found = {view}.union(*(needed(other) for other in read)) if read else {view}
    return [other for other in VIEWS if other in found]


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return value.isoformat() if isinstance(value, date) else value


def build(view: str, given: dict[str, list[dict[str, Any]]], *, materialise: bool) -> database.Database:
    """A database with the views that a mart needs."""
    datasets = {name: ds.dataset(rows) for name, rows in complete(given).items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "VIEWS", needed(f"marts/{view}"))
        return database._build(datasets, None, materialise=materialise)


def is_computed_once(view: str) -> bool:
    """Whether a mart reads others several times: faster when each of them is a table, and settled ones always are."""
    read = {name.rsplit("/", 1)[-1] for name in needed(f"marts/{view}")}
    return view == "devices" or not read.isdisjoint(database.SETTLED)


@functools.cache
def opened(view: str) -> database.Database:
    """A database over no rows, made once per mart: that takes longer than most cases, which put their rows into it."""
    return build(view, {}, materialise=is_computed_once(view))


def refresh(asked: database.Database, view: str) -> None:
    """Compute every mart that is a table anew, in their order: nothing of the case before is left in them."""
    for name in needed(f"marts/{view}"):
        doc = database.view_doc(name)
        if name.startswith("marts/") and doc.name not in database.LARGE:
            asked.connection.execute(f"CREATE OR REPLACE TABLE {doc.name} AS {doc.sql}")


def ask(given: dict[str, list[dict[str, Any]]], view: str, where: str = "") -> list[dict[str, Any]]:
    """Rows of a mart over these tables."""
    asked = opened(view)
    for name, rows in complete(given).items():
        asked.connection.register(f"_{name}", ds.dataset(rows))
    if is_computed_once(view):
        refresh(asked, view)
    found: list[dict[str, Any]] = asked.rows(f"SELECT * FROM {view}{where}").to_pylist()
    return [{name: plain(value) for name, value in row.items()} for row in found]


def case_param(path: Path) -> Any:
    reason = json.loads(path.read_text("utf-8")).get("xfail")
    marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
    return pytest.param(path, id=f"{path.parent.name}/{path.stem}", marks=marks)


@pytest.mark.parametrize("path", [case_param(path) for path in CASES])
def test_case(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    assert set(case) <= {"why", "input", "expect", "where", "xfail"}
    assert case["why"]
    expected = case["expect"]
    names = sorted(expected[0]) if expected else []
    assert all(sorted(row) == names for row in expected), "every expected row names the same columns"
    where = f" WHERE {case['where']}" if "where" in case else ""
    found = ask(case["input"], path.parent.name, where)
    if not expected:
        assert found == []
        return
    assert set(names) <= set(found[0] if found else names)

    def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(({name: row[name] for name in names} for row in rows), key=json.dumps)

    assert in_order(found) == in_order(expected)


def test_every_mart_has_a_case() -> None:
    marts = {view.removeprefix("marts/") for view in VIEWS if view.startswith("marts/")}
    assert {path.parent.name for path in CASES} == marts == JUDGED


# -- unknown is never no -----------------------------------------------------------------------------------------------

GPU = "GPU-5be0c1d2-77aa-4f10-9c3e-2f6b8d01e4a7"
SILENT: dict[str, list[dict[str, Any]]] = {
    # One capture of each table that says nothing but that a device is there.
    "captures": [{"capture_id": "bare", "status": "accepted"}],
    "gpu_readings": [{"capture_id": "readings", "gpu_uuid": GPU}],
    "gpu_list": [{"capture_id": "list", "gpu_uuid": GPU}],
    "mig_devices": [{"capture_id": "list", "parent_gpu_uuid": GPU, "mig_uuid": "MIG-1", "mig_profile": "x"}],
    "gpu_query": [{"capture_id": "query", "gpu": "00000000:4A:00.0", "label": "x"}],
    "scenario_gpus": [{"capture_id": "scenario", "scenario": "s", "position": 1, "node_id": "n", "gpu_id": "g"}],
    "scenario_demands": [{"capture_id": "scenario", "scenario": "s", "target_kind": "gpu", "target": "g"}],
    "decision_claims": [{"capture_id": "d", "decision_id": "d", "claim_kind": "field", "name": "DCGM_FI_X"}],
    "decisions": [{"capture_id": "d", "decision_id": "d", "decision_sha256": "x", "status": "proposed"}],
}
# What a view may say about a device of which nothing is known: it derives from what is there, not from what is not.
SAID = {
    "device_sightings.has_children",
    "device_facts.is_known",
    # Nobody accepted the decision: that is known.
    "decisions.is_in_force",
    "contract_coverage.is_in_force",
    # Without an accepted profile there is none, and no limiter acts: the published rule wants both said, and no clocks.
    "clock_constraints.has_profile",
    "clock_constraints.is_thermal_limited",
    "clock_constraints.is_power_limited",
}
# One listing is all there is: the layout it shows is the newest one known, and its children are not stale.
ONE_LAYOUT = {"mig_layouts.is_current", "devices.is_stale"}


EMPTY = database.empty()


def booleans(view: str) -> list[str]:
    described = EMPTY.rows(f"DESCRIBE {view}").to_pylist()
    return [row["column_name"] for row in described if row["column_type"] == "BOOLEAN"]


@pytest.mark.parametrize("view", sorted(JUDGED))
def test_unknown_is_never_no(view: str) -> None:
    names = [name for name in booleans(view) if f"{view}.{name}" not in SAID | ONE_LAYOUT]
    for row in ask(SILENT, view):
        assert {name: row[name] for name in names} == dict.fromkeys(names)


def test_unknown_is_never_a_pass() -> None:
    rows = ask(SILENT, "acceptance")
    assert len(rows) == 7
    assert {row["verdict"] for row in rows} == {"indeterminate"}


def test_nothing_is_known_without_evidence() -> None:
    rows = ask({"gpu_readings": [{"capture_id": "a", "gpu_uuid": GPU}]}, "device_facts")
    assert {row["fact"] for row in rows if row["is_known"]} == {"physical_id"}
    assert all((row["value"] is None) == (row["reason_code"] is not None) for row in rows)


@pytest.mark.parametrize("view", sorted(JUDGED))
def test_no_captures_no_rows(view: str) -> None:
    assert EMPTY.rows(f"SELECT * FROM {view}").num_rows == 0
