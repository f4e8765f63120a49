"""The catalogue: every table and view with every column explained; files and an export that other tools read."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipeline import catalog
from pipeline.errors import StoreError, UsageError
from pipeline.ingest import ingest
from pipeline.sql import VIEWS
from schemas import TABLES

if TYPE_CHECKING:
    from conftest import WriteCapture

    from pipeline.store import Store

UUID = "GPU-a2c6d813-9f40-4b57-8e21-7b35f0d9c46a"
LISTING = f"GPU 0: NVIDIA A100-SXM4-40GB (UUID: {UUID})\n"


@pytest.fixture(scope="module")
def entries() -> list[dict[str, object]]:
    return catalog.entries()


def test_every_table_and_view_is_listed(entries: list[dict[str, object]]) -> None:
    views = [view.rsplit("/", 1)[-1] for view in VIEWS]
    assert [entry["name"] for entry in entries] == [*TABLES, *views]
    assert {entry["kind"] for entry in entries} == {"table", "view", "staging view"}


def test_every_column_has_a_meaning(entries: list[dict[str, object]]) -> None:
    silent = []
    for entry in entries:
        assert entry["description"], entry["name"]
        columns = entry["columns"]
        assert isinstance(columns, list)
        assert columns
        silent += [f"{entry['name']}.{column['name']}" for column in columns if not column["description"]]
    assert silent == []


def test_column_tells_type_unit_and_source(entries: list[dict[str, object]]) -> None:
    (readings,) = [entry for entry in entries if entry["name"] == "gpu_readings"]
    columns = readings["columns"]
    assert isinstance(columns, list)
    (clock,) = [column for column in columns if column["name"] == "sm_clock_mhz"]
    assert (clock["type"], clock["unit"], clock["source"]) == ("int32", "MHz", "clocks.current.sm")
    (model,) = [column for column in columns if column["name"] == "model"]
    assert model["type"] == "dictionary<string>"


def test_markdown_has_one_row_per_column_and_no_broken_cell(
    entries: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "entries", lambda: entries)
    text = catalog.as_markdown()
    count = sum(len(entry["columns"]) for entry in entries if isinstance(entry["columns"], list))
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == count
    for row in rows:
        assert row.replace("\\|", "").count("|") == 6, row
    assert text.count("\n## ") == len(entries)


def test_text_form_names_everything(entries: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "entries", lambda: entries)
    text = catalog.as_text()
    for entry in entries:
        assert f"{entry['name']} ({entry['kind']}): " in text
    assert "    sm_clock_mhz int32 [MHz]: SM clock now. (from clocks.current.sm)" in text


def test_files_are_those_of_the_head_and_named_by_their_hash(store: Store, write_capture: WriteCapture) -> None:
    ingest(store, [write_capture("one.txt", LISTING)])
    ingest(store, [write_capture("two.txt", LISTING.replace("0:", "1:"))])
    store.put_segment("gpu_list", b"never committed")
    found = catalog.files(store, "gpu_list")
    assert len(found) == 2
    for name in found:
        assert hashlib.sha256(Path(name).read_bytes()).hexdigest() == Path(name).stem
    assert catalog.files(store, "mig_devices") == []
    with pytest.raises(UsageError, match="no_such_table"):
        catalog.files(store, "devices")


def test_export_holds_every_table_and_mart(store: Store, write_capture: WriteCapture, tmp_path: Path) -> None:
    ingest(store, [write_capture("list.txt", LISTING)])
    target = tmp_path / "it's.duckdb"
    count = catalog.export(store, target)
    with duckdb.connect(str(target), read_only=True) as connection:
        names = {row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        devices = connection.execute("SELECT device_id, device_kind FROM devices").fetchall()
    assert len(names) == count
    assert set(TABLES) <= names
    assert {view.rsplit("/", 1)[-1] for view in VIEWS} <= names
    assert devices == [(UUID, "gpu")]


def test_export_replaces_nothing_and_names_what_fails(store: Store, tmp_path: Path) -> None:
    (tmp_path / "mine.duckdb").write_text("mine")
    with pytest.raises(UsageError, match="file_exists"):
        catalog.export(store, tmp_path / "mine.duckdb")
    assert (tmp_path / "mine.duckdb").read_text() == "mine"
    with pytest.raises(StoreError, match="export_failed"):
        catalog.export(store, tmp_path / "none" / "x.duckdb")
