"""The reference tables: complete, free of duplicates, and in agreement with the schemas and with real captures."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from schemas.gpu_readings import GPU_READINGS

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "pipeline" / "reference"
CAPTURES = ROOT.parent / "shared" / "captures"

TYPES = {"timestamp", "text", "int", "float", "hex", "active", "yesno"}
UNITS = {"", "MHz", "W", "%", "MiB", "us", "ms", "seconds", "W/s"}
MASKS = {"clocks_event_reasons", "clocks_event_reasons_supported"}


def _rows(name: str) -> list[dict[str, str]]:
    with (REFERENCE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _repeated(names: list[str]) -> list[str]:
    return [name for name, count in Counter(name.casefold() for name in names).items() if count > 1]


def _known_names() -> set[str]:
    return {name.casefold() for row in _rows("smi_fields.csv") for name in (row["field"], *row["aliases"].split())}


@pytest.mark.parametrize("name", ["smi_fields.csv", "products.csv"])
def test_file_is_plain_utf8_with_a_source_on_every_line(name: str) -> None:
    data = (REFERENCE / name).read_bytes()
    assert data.endswith(b"\n")
    assert b"\r" not in data
    assert not data.startswith(b"\xef\xbb\xbf")
    data.decode("utf-8")
    for row in _rows(name):
        assert None not in row, row
        assert None not in row.values(), row
        assert all(value == value.strip() for value in row.values()), row
        assert row["source"], row


def test_fields_and_aliases_name_one_field_each_in_any_case() -> None:
    rows = _rows("smi_fields.csv")
    assert len(rows) >= 200
    assert _repeated([name for row in rows for name in (row["field"], *row["aliases"].split())]) == []


def test_types_units_and_branches_are_from_closed_lists() -> None:
    rows = _rows("smi_fields.csv")
    assert {row["type"] for row in rows} == TYPES
    assert {row["unit"] for row in rows} == UNITS
    assert all(re.fullmatch(r"[0-9]{3}|", row["since"]) for row in rows)


def test_every_family_of_error_counters_is_complete() -> None:
    caches = ["l1_cache", "l2_cache", "texture_memory"]
    places = ["device_memory", "dram", "register_file", *caches, "cbu", "sram", "total"]
    expected = {
        f"ecc.errors.{kind}.{span}.{place}"
        for kind in ("corrected", "uncorrected")
        for span in ("volatile", "aggregate")
        for place in places
    }
    assert expected <= {row["field"] for row in _rows("smi_fields.csv")}


def _expected_type(column: str, arrow: pa.DataType) -> str:
    if column in MASKS:
        return "hex"
    if pa.types.is_timestamp(arrow):
        return "timestamp"
    if pa.types.is_boolean(arrow):
        return "active" if column not in {"is_remapped_rows_pending", "is_remapped_rows_failure"} else "yesno"
    if pa.types.is_integer(arrow):
        return "int"
    return "float" if pa.types.is_floating(arrow) else "text"


def test_catalogue_fills_exactly_the_typed_columns() -> None:
    wanted: dict[str, tuple[str, str]] = {}
    for name, column in GPU_READINGS.columns.items():
        metadata = column.metadata or {}
        # observed_at is the same field in UTC; the catalogue names the first column that a field fills.
        if metadata["source"] is not None and metadata["source"] not in wanted:
            wanted[metadata["source"]] = (name, _expected_type(name, metadata["arrow"]))
    found = {row["field"]: (row["column"], row["type"]) for row in _rows("smi_fields.csv") if row["column"]}
    assert found == wanted


def test_units_agree_with_the_typed_columns() -> None:
    units = {name: (column.metadata or {})["unit"] or "" for name, column in GPU_READINGS.columns.items()}
    for row in _rows("smi_fields.csv"):
        if row["column"]:
            # The tool prints temperatures without their unit.
            expected = "" if row["field"].startswith("temperature.") else units[row["column"]]
            assert row["unit"] == expected, row


def _headers() -> list[Path]:
    return sorted([*CAPTURES.glob("smi/*/*.csv"), *CAPTURES.glob("smi_csv/*.csv")])


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="no captures beside the checkout (../shared/captures)")
def test_every_header_of_a_real_capture_is_known() -> None:
    known = _known_names()
    units = {row["field"]: row["unit"] for row in _rows("smi_fields.csv")}
    checked = 0
    for path in _headers():
        with path.open(encoding="utf-8", errors="replace") as file:
            cells = file.readline().rstrip("\n").split(", ")
        if not cells[0].startswith("timestamp"):  # captures without a header
            continue
        for cell in cells:
            name, _, unit = cell.partition(" [")
            assert name.casefold() in known, (path, cell)
            assert units[name] == unit.removesuffix("]"), (path, cell)
        checked += 1
    assert checked >= 10


def test_product_models_are_unique_and_well_formed() -> None:
    rows = _rows("products.csv")
    assert _repeated([row["model"] for row in rows]) == []
    for row in rows:
        assert re.fullmatch(r"[0-9A-F]{4}|", row["pci_device_id"]), row
        assert re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", row["product"]), row
        assert row["is_hgx"] in {"true", "false", ""}, row


def test_one_product_has_one_board_form() -> None:
    forms: dict[str, set[str]] = {}
    for row in _rows("products.csv"):
        forms.setdefault(row["product"], set()).add(row["board_form"])
    assert [product for product, found in forms.items() if len(found) > 1] == []
