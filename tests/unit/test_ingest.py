"""Ingest: once is enough, twice is the same, and what cannot be used is named with its line."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from pipeline import ingest as module
from pipeline.errors import UsageError
from pipeline.ingest import ingest
from pipeline.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import ReadTable, WriteCapture

    from pipeline.store import Store

UUID = "GPU-a2c6d813-9f40-4b57-8e21-7b35f0d9c46a"
LISTING = f"GPU 0: NVIDIA A100-SXM4-40GB (UUID: {UUID})\n"
CSV = "index, name, utilization.gpu [%]\n0, x, 10 %\n1, x, 250 %\n2, x, 30 %\n"
COUNTS = ("total_count", "header_count", "row_count", "blank_count", "structure_count", "refused_count")


def _folder(write_capture: WriteCapture) -> Path:
    write_capture("list.txt", LISTING)
    write_capture("gpu.csv", CSV, host="node7", note="first")
    return write_capture("empty", "").parent


def test_result_says_what_became_of_everything(store: Store, write_capture: WriteCapture) -> None:
    result = ingest(store, [_folder(write_capture)]).as_json()
    assert result["captures"] == {"ingested": 2, "already_present": 0, "quarantined": 1}
    assert result["rows"] == {"captures": 3, "gpu_list": 1, "gpu_readings": 2, "source_errors": 2}
    assert [(entry["path"], entry["code"], entry["line"]) for entry in result["refused"]] == [
        ("captures/empty", "empty", None),
        ("captures/gpu.csv", "rule_broken", 3),
    ]
    assert result["head"] == {"number": 1, "sha256": store.head().sha256}


def test_manifest_lists_captures_segments_and_versions(store: Store, write_capture: WriteCapture) -> None:
    result = ingest(store, [_folder(write_capture)])
    (manifest,) = store.manifests()
    assert [(entry["path"], entry["kind"], entry["status"]) for entry in manifest["captures"]] == [
        ("captures/empty", None, "quarantined"),
        ("captures/gpu.csv", "smi_csv", "accepted_with_rejects"),
        ("captures/list.txt", "smi_list", "accepted"),
    ]
    assert [entry["capture_id"] for entry in manifest["captures"]] == result.capture_ids
    assert manifest["captures"][2]["capture_sha256"] == hashlib.sha256(LISTING.encode()).hexdigest()
    assert sorted((entry["table"], entry["rows"]) for entry in manifest["segments"]) == [
        ("captures", 3),
        ("gpu_list", 1),
        ("gpu_readings", 2),
        ("source_errors", 2),
    ]
    for entry in manifest["segments"]:
        data = store.segment_path(entry["table"], entry["sha256"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (entry["bytes"], entry["sha256"])
    assert "pyarrow" in manifest["versions"]


def test_row_that_breaks_a_rule_is_refused_with_its_line(
    store: Store, write_capture: WriteCapture, read_table: ReadTable
) -> None:
    ingest(store, [_folder(write_capture)])
    assert read_table(store, "captures", "path", *COUNTS)[1] == ("captures/gpu.csv", 4, 1, 2, 0, 0, 1)
    readings = read_table(store, "gpu_readings", "capture_line", "gpu_index", "gpu_utilization_pct")
    assert readings == [(2, 0, 10), (4, 2, 30)]
    errors = read_table(store, "source_errors", "code", "capture_line", "severity")
    assert errors == [("empty", None, "error"), ("rule_broken", 3, "error")]


def test_blank_line_is_no_row(store: Store, write_capture: WriteCapture, read_table: ReadTable) -> None:
    file = write_capture("gpu.csv", "index, name\n0, x\n\n1, y\n")
    assert ingest(store, [file]).rows["gpu_readings"] == 2
    assert read_table(store, "captures", *COUNTS) == [(4, 1, 2, 1, 0, 0)]


def test_ingesting_again_adds_nothing(store: Store, write_capture: WriteCapture) -> None:
    folder = _folder(write_capture)
    first = ingest(store, [folder])
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*")}
    again = ingest(store, [folder])
    assert (again.ingested, again.quarantined, again.already_present, again.rows) == (0, 0, 3, {})
    assert again.head == first.head
    assert again.capture_ids == first.capture_ids
    assert {path: path.stat().st_mtime_ns for path in store.root.rglob("*")} == before


def test_corrected_note_adds_nothing_and_another_time_adds_a_capture(
    store: Store, write_capture: WriteCapture, read_table: ReadTable
) -> None:
    file = write_capture("list.txt", LISTING, captured_at="2026-10-01T00:00:00Z", note="first")
    assert ingest(store, [file]).ingested == 1
    write_capture("list.txt", LISTING, captured_at="2026-10-01T00:00:00Z", note="corrected")
    assert ingest(store, [file]).already_present == 1
    write_capture("list.txt", LISTING, captured_at="2026-10-02T00:00:00Z")
    assert ingest(store, [file]).ingested == 1
    digest = hashlib.sha256(LISTING.encode()).hexdigest()
    assert read_table(store, "captures", "capture_sha256", "note") == [(digest, "first"), (digest, None)]
    assert len([path for path in (store.root / "raw").rglob("*") if path.is_file()]) == 1


def test_layout_that_goes_back_is_three_observations(
    store: Store, write_capture: WriteCapture, read_table: ReadTable
) -> None:
    for day, content in enumerate((LISTING, LISTING.replace("0:", "1:"), LISTING), start=1):
        write_capture(f"day{day}.txt", content, captured_at=f"2026-10-0{day}T00:00:00Z")
    folder = write_capture("day1.txt", LISTING, captured_at="2026-10-01T00:00:00Z").parent
    assert ingest(store, [folder]).ingested == 3
    first, second, third = read_table(store, "captures", "capture_sha256", "capture_id")
    assert first[0] == third[0] != second[0]
    assert first[1] != third[1]


def test_same_capture_twice_in_one_folder_is_one(
    store: Store, write_capture: WriteCapture, read_table: ReadTable
) -> None:
    write_capture("a.txt", LISTING)
    folder = write_capture("b.txt", LISTING).parent
    result = ingest(store, [folder])
    assert (result.ingested, result.already_present) == (1, 1)
    assert result.capture_ids[0] == result.capture_ids[1]
    assert read_table(store, "captures", "path") == [("captures/a.txt",)]


def test_files_of_two_hosts_with_one_name_are_both_in(store: Store, tmp_path: Path, read_table: ReadTable) -> None:
    for host in ("host1", "host2"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "gpu.csv").write_text(f"index, name\n0, {host}\n", encoding="utf-8")
    result = ingest(store, [tmp_path / "host1" / "gpu.csv", tmp_path / "host2" / "gpu.csv"])
    assert result.ingested == 2
    assert read_table(store, "gpu_readings", "model") == [("host1",), ("host2",)]


def test_powershell_redirect_is_kept_as_it_is_and_read(
    store: Store, write_capture: WriteCapture, read_table: ReadTable
) -> None:
    data = b"\xff\xfe" + "index, name\r\n0, NVIDIA GeForce RTX 3070\r\n".encode("utf-16-le")
    file = write_capture("gpu.csv", data)
    assert ingest(store, [file]).refused == []
    digest = hashlib.sha256(data).hexdigest()
    assert store.read_raw(digest) == data
    readings = read_table(store, "gpu_readings", "capture_sha256", "capture_line", "model")
    assert readings == [(digest, 2, "NVIDIA GeForce RTX 3070")]
    assert read_table(store, "captures", "bytes", "counted", *COUNTS) == [(len(data), "lines", 2, 1, 1, 0, 0, 0)]


def test_two_stores_from_scratch_are_the_same(write_capture: WriteCapture, tmp_path: Path) -> None:
    folder = _folder(write_capture)
    kept = []
    for name in ("one", "two"):
        store = open_store(tmp_path / name, create=True)
        ingest(store, [folder])
        files = [path for path in store.root.rglob("*") if path.is_file()]
        kept.append({path.relative_to(store.root).as_posix(): path.read_bytes() for path in files})
    assert kept[0] == kept[1]
    assert len(kept[0]) == 9  # FORMAT, 3 raw, 4 segments, 1 manifest


@pytest.mark.parametrize("name", ["SEGMENT_ROWS", "WINDOW_FILES", "WINDOW_BYTES"])
def test_limits_of_memory_change_no_row(
    write_capture: WriteCapture, read_table: ReadTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = _folder(write_capture)
    query = ("gpu_readings", "capture_id", "capture_line", "gpu_index")
    whole = open_store(tmp_path / "whole", create=True)
    ingest(whole, [folder])
    monkeypatch.setattr(module, name, 1)
    parts = open_store(tmp_path / "parts", create=True)
    told: list[tuple[int, int]] = []
    result = ingest(parts, [folder], progress=lambda done, of: told.append((done, of)))
    assert read_table(parts, *query) == read_table(whole, *query)
    assert [entry["path"] for entry in parts.manifests()[0]["captures"]] == [
        entry["path"] for entry in whole.manifests()[0]["captures"]
    ]
    assert result.rows["captures"] == 3
    assert told[-1] == (3, 3)


def test_kind_asked_for_is_used(store: Store, write_capture: WriteCapture, read_table: ReadTable) -> None:
    file = write_capture("gpu.csv", CSV)
    result = ingest(store, [file], kind="smi_list")
    assert (result.ingested, result.quarantined) == (0, 1)
    assert read_table(store, "captures", "kind", "status") == [("smi_list", "quarantined")]


def test_nothing_is_made_for_a_path_that_is_not_there(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no_such_path"):
        ingest(store, [tmp_path / "none"])
    assert store.head().number == 0


def test_time_finer_than_the_table_holds_is_cut_and_not_a_crash(
    store: Store, write_capture: WriteCapture, read_table: ReadTable
) -> None:
    file = write_capture("list.txt", LISTING, captured_at="2026-10-01T00:00:00.123456+02:00")
    assert ingest(store, [file]).ingested == 1
    cut = datetime(2026, 9, 30, 22, 0, 0, 123_000, tzinfo=UTC)
    assert read_table(store, "captures", "captured_at") == [(cut,)]


@pytest.mark.parametrize("text", ["a\0b", "x" * 100_000, "\u202e", "'; DROP TABLE captures; --", ""])
def test_facts_may_hold_any_text(store: Store, write_capture: WriteCapture, read_table: ReadTable, text: str) -> None:
    file = write_capture("list.txt", LISTING, host=text, set=text, note=text, command=text, timezone=text)
    assert ingest(store, [file]).ingested == 1
    assert read_table(store, "captures", "host", "set", "note", "command", "timezone") == [(text,) * 5]


def test_broken_sidecar_costs_no_equal_capture_and_can_be_mended(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "found"
    folder.mkdir()
    for name in ("a.csv", "b.csv"):
        (folder / name).write_text("index, name\n0, A\n", "ascii")
    (folder / "a.csv.json").write_text("{bad", "ascii")
    assert ingest(store, [folder]).ingested == 2
    (folder / "a.csv.json").write_text('{"host": "h1"}', "ascii")
    mended = ingest(store, [folder])
    assert (mended.ingested, mended.already_present, mended.refused) == (1, 1, [])
