"""Whole ingests against a failing disk, a failing parser and a hostile folder: each costs no more than it must."""

from __future__ import annotations

import json
import os
import shutil
import socket
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from dying_parser import FATAL, parse_or_die
from machine import Death, FaultyDisk, Machine

from pipeline import captures, parse_pool
from pipeline.cli import cli
from pipeline.database import connect
from pipeline.errors import StoreError
from pipeline.ingest import ingest
from pipeline.parsers import KINDS
from pipeline.store import Store, open_store
from pipeline.verify import verify

if TYPE_CHECKING:
    from conftest import ReadTable, WriteCapture
    from machine import Mode

    from pipeline.parsed import CaptureFacts, Parsed

LISTING = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-a2c6d813-9f40-4b57-8e21-7b35f0d9c46a)\n"
CSV = "index, name, temperature.gpu\n0, NVIDIA A100, 41\n1, NVIDIA A100, 43\n"


def _bytes(root: Path) -> dict[str, bytes]:
    kept = [path for top in ("manifests", "raw", "tables") for path in (root / top).rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in kept}


# -- disk ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(write_capture: WriteCapture, tmp_path: Path) -> Path:
    write_capture("list.txt", LISTING)
    write_capture("gpu.csv", CSV, host="node7")
    return tmp_path / "captures"


def _attempt(root: Path, folder: Path, disk: FaultyDisk) -> BaseException | None:
    try:
        ingest(open_store(root, create=True, disk=disk), [folder], jobs=1)
    except (StoreError, OSError, Death) as error:
        return error
    finally:
        disk.leave()
    return None


@pytest.mark.parametrize(
    ("mode", "first"), [("eio", 4), ("eio_for_ever", 12), ("disk_full", 20), ("death", 28), ("wrong_byte", 0)]
)
def test_ingest_goes_on_after_any_fault(folder: Path, tmp_path: Path, mode: Mode, first: int) -> None:
    """Some operations; the sweep over every one is done with the store alone, where it costs less."""
    disk = FaultyDisk(Machine())
    assert _attempt(tmp_path / "plain", folder, disk) is None
    expected = _bytes(tmp_path / "plain")
    writes = [at for at, verb in enumerate(disk.log, start=1) if verb == "write"]
    places = writes[::2] if mode == "wrong_byte" else range(first, len(disk.log) + 1, 32)
    faults = 0
    for at in places:
        root = tmp_path / f"{mode}-{at}"
        faulty = FaultyDisk(Machine(), mode, at)
        error = _attempt(root, folder, faulty)
        faults += bool(faulty.injected)
        assert (error is not None) == bool(faulty.injected), f"{mode} at {at}"
        if (root / "FORMAT").exists():
            before = verify(open_store(root))
            assert before.damage == [], f"{mode} at {at}: {before.damage}"
            assert before.manifests in {0, 1}
        assert _attempt(root, folder, FaultyDisk(Machine())) is None
        assert _bytes(root) == expected, f"{mode} at {at}"
    print(f"{mode}: {faults} faults in whole ingests")  # noqa: T201 - the count is the result
    assert faults >= 3


# -- parsers ---------------------------------------------------------------------------------------------------------


def test_parser_with_a_fault_of_ours_costs_its_capture(
    store: Store, folder: Path, read_table: ReadTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(_data: bytes, _facts: CaptureFacts) -> Parsed:
        raise LookupError("unforeseen")

    monkeypatch.setitem(KINDS, "smi_list", replace(KINDS["smi_list"], parse=parse))
    result = ingest(store, [folder], jobs=1)
    assert (result.ingested, result.quarantined) == (1, 1)
    (refusal,) = result.refused
    assert (refusal["path"], refusal["code"]) == ("captures/list.txt", "parser_failed")
    assert "LookupError: unforeseen" in refusal["message"]
    assert read_table(store, "captures", "path", "status", "status_reason") == [
        ("captures/gpu.csv", "accepted", None),
        ("captures/list.txt", "quarantined", "parser_failed"),
    ]
    assert store.read_raw(store.manifests()[0]["captures"][1]["capture_sha256"]) == LISTING.encode()


def test_pool_gives_what_one_process_gives_and_survives_a_dying_parser(
    folder: Path, write_capture: WriteCapture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = ingest(open_store(tmp_path / "alone", create=True), [folder], jobs=1)
    monkeypatch.setattr(parse_pool, "POOL_BYTES", 0)
    pooled = ingest(open_store(tmp_path / "pooled", create=True), [folder], jobs=2)
    assert pooled == alone
    assert _bytes(tmp_path / "pooled") == _bytes(tmp_path / "alone")

    write_capture("fatal.txt", FATAL)
    monkeypatch.setattr(parse_pool, "_parse_one", parse_or_die)
    store = open_store(tmp_path / "dying", create=True)
    result = ingest(store, [folder], jobs=2)
    assert (result.ingested, result.quarantined) == (2, 1)
    assert [(refusal["path"], refusal["code"]) for refusal in result.refused] == [
        ("captures/fatal.txt", "parser_killed")
    ]
    assert result.rows["gpu_readings"] == 2
    assert result.rows["gpu_list"] == 1


# -- a hostile folder ------------------------------------------------------------------------------------------------

LONG = b"x" * (10 << 20)


def _hostile(folder: Path) -> dict[str, str | None]:
    """Fill a folder with everything a folder can hold; path -> code of its refusal (None: it is in)."""
    folder.mkdir()
    wanted: dict[str, str | None] = {}

    def put(name: str | bytes, data: bytes, code: str | None, shown: str | None = None) -> None:
        path = os.fsencode(folder) + b"/" + (name if isinstance(name, bytes) else name.encode())
        Path(os.fsdecode(path)).write_bytes(data)
        wanted[f"captures/{shown or name!s}"] = code

    put("good.csv", CSV.encode(), None)
    put("good.txt", LISTING.encode(), None)
    put("new\nline.txt", LISTING.replace("a2c6d813", "00000001").encode(), None)
    put("r\u202elo.txt", LISTING.replace("a2c6d813", "00000002").encode(), None)
    put(b"bytes\xff.txt", LISTING.replace("a2c6d813", "00000003").encode(), None, "bytes\\xff.txt")
    put("unreadable.txt", LISTING.replace("a2c6d813", "00000004").encode(), "unreadable")
    put("empty.txt", b"", "empty")
    put("binary", bytes(range(256)) * 8, "binary")
    put("oneline.txt", LONG, "kind_unknown")
    put("longline.csv", CSV.encode() + LONG + b"\n2, NVIDIA A100, 45\n", "line_too_long")
    for name, target in (("loop", "loop"), ("dangling", "nothing"), ("up", "..")):
        (folder / name).symlink_to(target)
        wanted[f"captures/{name}"] = "unreadable"
    os.mkfifo(folder / "fifo")
    wanted["captures/fifo"] = "unreadable"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
    wanted["captures/socket"] = "unreadable"
    return wanted


def test_hostile_folder_costs_only_what_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = _hostile(tmp_path / "captures")
    reading = captures.read_file

    def read_file(file: Path) -> bytes:
        if file.name == "unreadable.txt":  # a superuser can read everything: injected
            raise PermissionError(13, "Permission denied", str(file))
        return reading(file)

    monkeypatch.setattr(captures, "read_file", read_file)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["ingest", "captures", "--json"])
    assert done.exit_code == 4, done.output
    printed = json.loads(done.stdout)
    bad = {path: code for path, code in wanted.items() if code}
    assert {refusal["path"]: refusal["code"] for refusal in printed["refused"]} == bad
    assert printed["captures"] == {"ingested": 6, "already_present": 0, "quarantined": 9}

    store = open_store(tmp_path / "evidence")
    database = connect(store)
    found = {row["path"]: row for row in database.rows("SELECT * FROM captures").to_pylist()}
    assert set(found) == set(wanted)
    for path, code in wanted.items():
        status = "accepted" if code is None else "quarantined" if code != "line_too_long" else "accepted_with_rejects"
        assert found[path]["status"] == status, path
        assert found[path]["status_reason"] == (code if status == "quarantined" else None)
    errors = database.rows("SELECT path, code, message FROM source_errors WHERE severity = 'error'").to_pylist()
    assert {row["path"]: row["code"] for row in errors} == bad
    assert all(str(tmp_path) not in row["message"] for row in errors)
    assert "Permission denied" in next(row["message"] for row in errors if row["path"] == "captures/unreadable.txt")

    # the good rows around the long line are in, and every line is accounted for
    counts = "total_count, header_count, row_count, refused_count"
    (row,) = database.rows(f"SELECT {counts} FROM captures WHERE path = 'captures/longline.csv'").to_pylist()  # noqa: S608
    assert tuple(row.values()) == (5, 1, 3, 1)
    query = (
        "SELECT core_temp_c FROM gpu_readings JOIN captures USING (capture_id) WHERE path LIKE '%longline%' ORDER BY 1"
    )
    assert database.rows(query).column(0).to_pylist() == [41, 43, 45]

    again = CliRunner().invoke(cli, ["ingest", "captures", "--json"])
    assert again.exit_code == 0
    assert json.loads(again.stdout)["captures"] == {"ingested": 0, "already_present": 15, "quarantined": 0}
    assert json.loads(again.stdout)["head"] == printed["head"]
    assert verify(store).damage == []
    assert (store.root / "manifests").is_dir()
    assert len(store.manifests()) == 1


def test_folder_without_anything_good_is_committed_as_what_it_is(tmp_path: Path, store: Store) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    (folder / "empty.txt").touch()
    result: Any = ingest(store, [folder], jobs=1).as_json()
    assert result["captures"] == {"ingested": 0, "already_present": 0, "quarantined": 1}
    assert result["rows"] == {"captures": 1, "source_errors": 1}
    shutil.rmtree(folder)
    folder.mkdir()
    assert ingest(store, [folder], jobs=1).as_json()["captures"]["quarantined"] == 0
    assert store.head().number == 1
