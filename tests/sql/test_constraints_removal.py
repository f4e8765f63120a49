"""Removing evidence never creates certainty: every capture, row and column of a consistent set is left out in turn."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from test_constraints_properties import DRIVER, OTHER, PRODUCT, PROFILE, Row, captured, over, stamped

from pipeline import segments
from pipeline.parsers import scenario
from schemas import TABLES, arrow_schema

CONSISTENT: Row = {
    "format": scenario.FORMAT,
    "scenario": "consistent",
    "topology": {
        "nodes": [{"node_id": "n", "gpus": []}],
        "pools": [
            {
                "pool": "bound",
                "operating": {
                    "constraints": {
                        "driver_version": DRIVER,
                        "requested_sm_clock_mhz": 1980,
                        "requested_memory_clock_mhz": 2619,
                        "thermal_cap": {"sm_clock_mhz": 1200, "memory_clock_mhz": 2619},
                        "power_cap": {"sm_clock_mhz": 1980, "memory_clock_mhz": 1593},
                        "idle_power_w": 100,
                        "full_demand_power_w": 500,
                        "power_fault_demand_w": 900,
                    }
                },
            }
        ],
    },
    "allocation": {"gpus": []},
    "demands": [],
    "incidents": [{"incident": "gpu_power_constraint", "gpu_id": "pool-hit", "intensity": 0.5}],
}
# GPU: core, budget, demand (None: that of the pool, 500 W, or 700 W where the incident hits), driver, and its state.
CARDS: dict[str, tuple[float, float, float | None, str, str]] = {
    "hot": (89.1, 700, 600, DRIVER, "active"),
    "hungry": (60, 500, 500.5, DRIVER, "active"),
    "both": (94, 500, 600, DRIVER, "active"),
    "cool": (60, 700, 600, DRIVER, "inactive"),
    "equal": (89, 600, 600, DRIVER, "inactive"),
    "foreign": (94, 500, 600, OTHER, "not_evaluated"),
    "pool-hot": (94, 500, None, DRIVER, "active"),
    "pool-equal": (89, 500, None, DRIVER, "inactive"),
    "pool-hit": (60, 600, None, DRIVER, "active"),
}


def consistent() -> Row:
    document: Row = json.loads(json.dumps(CONSISTENT))
    for name, (core, budget, demand, driver, _) in CARDS.items():
        gpu = {"gpu_id": name, "model": PRODUCT, "is_available": True, "core_temp_c": core, "power_budget_w": budget}
        document["topology"]["nodes"][0]["gpus"].append(gpu | ({} if demand is not None else {"pool": "bound"}))
        document["allocation"]["gpus"].append({"gpu_id": name, "share": 1})
        if demand is not None:
            shared = document["topology"]["pools"][0]["operating"]["constraints"]
            kept = {key: value for key, value in shared.items() if not key.endswith("_power_w") and "fault" not in key}
            document["demands"].append(kept | {"gpu_id": name, "driver_version": driver, "power_demand_w": demand})
    return document


def base() -> dict[str, list[Row]]:
    """An accepted decision, the two captures that confirm it, and a scenario; rows by table."""
    tables = captured(*PROFILE) | {name: table for name, table in stamped({"s": consistent()}).items() if len(table)}
    return {name: table.to_pylist() for name, table in tables.items()}


Removal = tuple[str, str, Any]
"""What is removed: ("capture", "", id), ("row", table, index) or ("column", table, name)."""


def removals(rows: dict[str, list[Row]]) -> list[Removal]:
    """Every capture, every row and every column that may be NULL; an incident that is not declared is none."""
    ids = sorted({row["capture_id"] for table in rows.values() for row in table})
    whole: list[Removal] = [("capture", "", each) for each in ids]
    single = [("row", table, i) for table in rows if table != "scenario_incidents" for i in range(len(rows[table]))]
    columns = [
        ("column", table, field.name) for table in rows for field in arrow_schema(TABLES[table]) if field.nullable
    ]
    return [*whole, *single, *columns]


def without(rows: dict[str, list[Row]], removed: list[Removal]) -> dict[str, list[Row]]:
    gone = {(table, index) for kind, table, index in removed if kind == "row"}
    nulls = {(table, column) for kind, table, column in removed if kind == "column"}
    captures = {which for kind, _, which in removed if kind == "capture"}
    return {
        table: [
            {key: None if (table, key) in nulls else value for key, value in row.items()}
            for index, row in enumerate(given_rows)
            if (table, index) not in gone and row["capture_id"] not in captures
        ]
        for table, given_rows in rows.items()
    }


def renamed(rows: dict[str, list[Row]], number: int) -> dict[str, list[Row]]:
    """The same about a driver version of its own, so that any number of variants stand side by side in one database."""

    def value(key: str, cell: Any) -> Any:
        if key in ("capture_id", "capture_sha256", "decision_id"):
            return f"{number}:{cell}"
        return f"595.91.{1000 + number}" if cell == DRIVER else cell

    return {table: [{key: value(key, cell) for key, cell in row.items()} for row in rows[table]] for table in rows}


def states(variants: list[dict[str, list[Row]]]) -> list[dict[str, tuple[str, bool]]]:
    """By GPU, for each variant: the state of its limiters and whether it has a profile."""
    together: dict[str, list[Row]] = {}
    for number, variant in enumerate(variants):
        for table, rows in renamed(variant, number).items():
            together.setdefault(table, []).extend(rows)
    asked = over({table: segments.from_rows(table, rows) for table, rows in together.items()})
    found: list[dict[str, tuple[str, bool]]] = [{} for _ in variants]
    for row in asked.rows("SELECT * FROM clock_constraints").to_pylist():
        number = int(row["capture_id"].split(":")[0])
        found[number][row["gpu_id"]] = (row["limiter_state"], row["has_profile"])
    return found


def assert_only_unknown(removed: list[list[Removal]]) -> list[dict[str, tuple[str, bool]]]:
    rows = base()
    before, *found = states([rows, *(without(rows, each) for each in removed)])
    assert before == {name: (card[-1], card[-2] == DRIVER) for name, card in CARDS.items()}
    for now, what in zip(found, removed, strict=True):
        for gpu, (state, has_profile) in now.items():
            assert state in (before[gpu][0], "not_evaluated"), (what, gpu)
            assert has_profile <= before[gpu][1], (what, gpu)
    return found


def test_removing_evidence_only_makes_it_unknown() -> None:
    """Each capture, row and nullable column, one at a time: active never turns inactive or back, nor is support gained.

    A refutation is another matter, and none is here: a contradiction or a superseding decision that is gone revives
    what it refuted. So are the assumptions of a scenario that are none when they are not declared: a cap, an incident.
    """
    removed = [[each] for each in removals(base())]
    assert {what[0] for (what,) in removed} == {"capture", "row", "column"}
    found = assert_only_unknown(removed)
    (undecided,) = [now for now, (what,) in zip(found, removed, strict=True) if what == ("row", "decisions", 0)]
    assert undecided == dict.fromkeys(CARDS, ("not_evaluated", False))


@given(st.data())
@settings(max_examples=2, deadline=None)
def test_removing_much_of_the_evidence_only_makes_it_unknown(data: st.DataObject) -> None:
    """Several at a time, of what the profile stands on."""
    evidence = [each for each in removals(base()) if not each[1].startswith("scenario")]
    some = st.lists(st.sampled_from(evidence), min_size=2, max_size=6)
    assert_only_unknown(data.draw(st.lists(some, min_size=20, max_size=40)))
