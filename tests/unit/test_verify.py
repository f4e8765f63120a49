"""`verify` finds every change of every kind of file, and numbers that were changed together with their hashes."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.ingest import ingest
from pipeline.segments import encode
from pipeline.store import Store, open_store
from pipeline.verify import Verification, verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import WriteCapture

UUID = "GPU-a2c6d813-9f40-4b57-8e21-7b35f0d9c46a"
LISTING = f"GPU 0: NVIDIA A100-SXM4-40GB (UUID: {UUID})\n"
CSV = "index, name, temperature.gpu, utilization.gpu [%]\n0, x, 41, 10 %\n1, x, 43, 250 %\n2, x\n"
FACTS = {"host": "node7", "source": "mock", "simulated": True, "captured_at": "2026-10-01T00:00:00.123456Z"}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two batches: a listing; then a log with a refused row and a short one, a binary and an invalid sidecar."""
    folder = tmp_path_factory.mktemp("template")
    captures = folder / "captures"
    captures.mkdir()
    (captures / "list.txt").write_text(LISTING, encoding="utf-8")
    store = open_store(folder / "evidence", create=True)
    ingest(store, [captures / "list.txt"], jobs=1)
    (captures / "gpu.csv").write_text(CSV, encoding="utf-8")
    (captures / "gpu.csv.json").write_text(json.dumps(FACTS), encoding="utf-8")
    (captures / "binary").write_bytes(b"\0" * 9)
    (captures / "binary.json").write_text('{"simulated": "maybe"}', encoding="utf-8")
    (captures / "empty").touch()
    (captures / "link").symlink_to("nothing")
    ingest(store, [captures], jobs=1)
    return folder


@pytest.fixture
def whole(template: Path, tmp_path: Path) -> Store:
    shutil.copytree(template, tmp_path, symlinks=True, dirs_exist_ok=True)
    return open_store(tmp_path / "evidence")


def _codes(found: Verification) -> set[str]:
    return {damage["code"] for damage in found.damage}


def test_whole_store(whole: Store) -> None:
    told: list[tuple[int, int]] = []
    found = verify(whole, lambda done, of: told.append((done, of)))
    assert found.damage == []
    assert found.unlisted == []
    assert (found.manifests, found.captures, found.raw) == (2, 5, 4)
    assert found.segments == sum(len(manifest["segments"]) for manifest in whole.manifests())
    assert found.head == whole.head().sha256
    assert told == [(1, 2), (2, 2)]


def test_empty_store_is_whole(store: Store) -> None:
    assert verify(store) == Verification()


def test_litter_is_named_and_no_damage(whole: Store) -> None:
    (whole.root / "tmp" / "77-0").write_bytes(b"litter")
    digest = hashlib.sha256(b"never committed").hexdigest()
    whole.put_raw(b"never committed", digest)
    found = verify(whole)
    assert found.damage == []
    assert found.unlisted == [f"raw/{digest[:2]}/{digest}", "tmp/77-0"]


# -- bytes -----------------------------------------------------------------------------------------------------------


def _write(path: Path, data: bytes) -> None:
    path.chmod(0o600)
    path.write_bytes(data)


def _flip(path: Path, _: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    _write(path, bytes(data))


def _cut(path: Path, _: Path) -> None:
    _write(path, path.read_bytes()[:-1])


def _append(path: Path, _: Path) -> None:
    _write(path, path.read_bytes() + b"\0")


def _delete(path: Path, _: Path) -> None:
    path.unlink()


def _swap(path: Path, other: Path) -> None:
    one, two = path.read_bytes(), other.read_bytes()
    _write(path, two)
    _write(other, one)


@pytest.mark.parametrize("harm", [_flip, _cut, _append, _delete, _swap], ids=lambda harm: harm.__name__)
@pytest.mark.parametrize("kind", ["raw", "tables", "manifests"])
def test_changed_file_is_named(whole: Store, kind: str, harm: Callable[[Path, Path], None]) -> None:
    listed = sorted(path for path in (whole.root / kind).rglob("*") if path.is_file() and path.stat().st_size)
    harm(listed[0], listed[1])
    found = verify(whole)
    assert found.damage
    named = {damage["where"] for damage in found.damage}
    assert str(listed[0]) in named or (kind == "manifests" and named & {str(path) for path in listed})
    codes = {
        "raw": {"hash_mismatch", "file_missing"},
        "tables": {"hash_mismatch", "file_missing"},
        "manifests": {"manifest_damaged", "manifest_missing", "chain_broken"},
    }
    assert _codes(found) <= codes[kind]


def test_any_byte_of_a_raw_file_counts(store: Store, write_capture: WriteCapture) -> None:
    ingest(store, [write_capture("list.txt", LISTING)], jobs=1)
    file = store.raw_path(hashlib.sha256(LISTING.encode()).hexdigest())
    for position in range(0, len(LISTING), 3):
        data = bytearray(LISTING.encode())
        data[position] ^= 1 << position % 8
        _write(file, bytes(data))
        assert _codes(verify(store)) == {"hash_mismatch"}
    _write(file, LISTING.encode())
    assert verify(store).damage == []


# -- numbers that were changed together with their hashes ------------------------------------------------------------


def _rewrite(store: Store, table: str, change: Callable[[list[dict[str, Any]]], Any], number: int = 2) -> None:
    """Change a table of a batch, and name the new segment in its manifest, as a forger can."""
    path = store.root / "manifests" / f"{number:08d}.json"
    manifest = json.loads(path.read_bytes())
    for entry in manifest["segments"]:
        if entry["table"] == table:
            old = pq.read_table(store.segment_path(table, entry["sha256"]))
            rows = old.to_pylist()
            made = change(rows)
            if isinstance(made, bytes):
                data: Any = made
            else:
                data = encode(pa.Table.from_pylist(rows, schema=old.schema))
            entry |= {"sha256": store.put_segment(table, data), "bytes": len(data), "rows": len(rows)}
    _write(path, json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def _set(column: str, value: Any, path: str = "captures/gpu.csv") -> Callable[[list[dict[str, Any]]], None]:
    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            if row.get("path", path) == path:
                row[column] = value

    return change


def _drop_first(rows: list[dict[str, Any]]) -> None:
    del rows[0]


def _drop(code: str) -> Callable[[list[dict[str, Any]]], None]:
    def change(rows: list[dict[str, Any]]) -> None:
        rows[:] = [row for row in rows if row["code"] != code]

    return change


@pytest.mark.parametrize(
    ("table", "change", "code", "where"),
    [
        ("gpu_readings", _set("core_temp_c", 40), "rows_differ", "captures/gpu.csv"),
        ("gpu_readings", _set("absent", None), "rows_differ", "captures/gpu.csv"),
        ("gpu_readings", _drop_first, "rows_differ", "captures/gpu.csv"),
        ("source_errors", _drop("rule_broken"), "rows_differ", "captures/gpu.csv"),
        ("source_errors", _drop("binary"), "rows_differ", "captures/binary"),
        ("source_errors", _set("severity", "note"), "rows_differ", "captures/gpu.csv"),
        ("captures", _set("status", "accepted"), "capture_differs", "captures/gpu.csv"),
        ("captures", _set("source", "host_observation"), "capture_differs", "captures/gpu.csv"),
        ("captures", _set("is_simulated", False), "capture_differs", "captures/gpu.csv"),
        ("captures", _set("claim_status", "claim_verified"), "capture_differs", "captures/gpu.csv"),
        ("captures", _set("sidecar", '{"simulated":false}'), "capture_differs", "captures/gpu.csv"),
        ("captures", _set("sidecar", "{"), "not_comparable", "manifest 2"),
        ("captures", _drop_first, "captures_differ", "manifest 2"),
        ("gpu_readings", lambda _: b"PAR1 is not enough", "segment_unreadable", ".parquet"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_forged_rows_do_not_pass_the_new_parse(
    whole: Store, table: str, change: Callable[[list[dict[str, Any]]], Any], code: str, where: str
) -> None:
    _rewrite(whole, table, change)
    found = verify(whole)
    assert code in _codes(found), found.damage
    assert any(where in damage["where"] for damage in found.damage if damage["code"] == code)


@pytest.mark.parametrize("table", ["captures", "gpu_readings", "source_errors"])
def test_table_that_was_taken_out_of_a_manifest_is_missed(whole: Store, table: str) -> None:
    path = whole.root / "manifests" / "00000002.json"
    manifest = json.loads(path.read_bytes())
    manifest["segments"] = [entry for entry in manifest["segments"] if entry["table"] != table]
    _write(path, json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())
    assert verify(whole).damage


def test_whoever_kept_a_head_sees_that_history_was_rewritten(whole: Store) -> None:
    kept = whole.head().sha256
    _rewrite(whole, "gpu_readings", _set("core_temp_c", 40))
    assert verify(whole).head != kept


def test_raw_is_enough(whole: Store, tmp_path: Path) -> None:
    """Segments that are lost come back under the same hashes from the raw bytes and what the sidecars said."""
    again = open_store(tmp_path / "again", create=True)
    ingest(again, [tmp_path / "captures" / "list.txt"], jobs=1)
    ingest(again, [tmp_path / "captures"], jobs=1)
    assert again.head() == whole.head()


def test_capture_without_kind_that_names_a_failure_is_whole(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "failed.txt"
    file.write_text("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n\n", "ascii")
    ingest(store, [file])
    assert verify(store).damage == []
