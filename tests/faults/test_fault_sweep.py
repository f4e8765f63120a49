"""Fail every single disk operation of two batches: the store opens, shows the old or the new head, and goes on.

A sweep that cannot see a planted bug proves nothing: each kind of sweep is run against stores and devices with one.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

import pytest
from sweep import death_then_power_sweep, operations, power_sweep, sweep

from pipeline.disk import Disk
from pipeline.store import Head, Store

if TYPE_CHECKING:
    from pathlib import Path

    from machine import Mode


def _shown(broken: list[str]) -> str:
    return f"{len(broken)} broken promises: " + "; ".join(broken[:5])


def test_a_run_without_fault_has_enough_operations_to_be_worth_a_sweep(tmp_path: Path) -> None:
    log, kept = operations(tmp_path)
    assert len(log) > 100
    assert len(kept) == 8  # 2 manifests, 3 raw files, 3 segments
    assert {"create", "write", "read_back", "seal", "sync", "close", "link", "unlink", "sync_folder"} <= set(log)


@pytest.mark.parametrize(
    ("mode", "least"),
    [
        ("eio", 100),
        ("eio_for_ever", 100),
        ("disk_full", 100),
        ("death", 100),
        ("short_write", 9),
        ("wrong_byte", 9),
    ],
)
def test_no_fault_breaks_the_store(tmp_path: Path, mode: Mode, least: int) -> None:
    tally = sweep(tmp_path / "sweep", mode)
    print(f"{mode}: {tally.faults} faults, {len(tally.broken)} broken promises")  # noqa: T201 - the count is the result
    assert tally.faults >= least
    assert tally.broken == [], _shown(tally.broken)


def test_no_power_cut_breaks_the_store(tmp_path: Path) -> None:
    tally = power_sweep(tmp_path / "sweep")
    print(f"power: {tally.faults} cuts, {len(tally.broken)} broken promises")  # noqa: T201
    assert tally.faults > 500
    assert tally.broken == [], _shown(tally.broken)


def test_what_a_dead_process_left_is_forced_to_the_device_before_it_is_relied_on(tmp_path: Path) -> None:
    tally = death_then_power_sweep(tmp_path / "sweep")
    print(f"death, then power: {tally.faults} faults, {len(tally.broken)} broken promises")  # noqa: T201
    assert tally.faults > 100
    assert tally.broken == [], _shown(tally.broken)


# -- planted bugs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("planted", "pattern"), [("drops_sync", "half"), ("drops_sync_folder", "names")])
def test_device_that_does_not_sync_is_noticed(tmp_path: Path, planted: str, pattern: str) -> None:
    assert len(power_sweep(tmp_path / "sweep", (pattern,), planted).broken) > 20


class ManifestFirst(Store):
    """Planted bug: the batch is committed before its files are put."""

    waiting: list[Any]

    def put_raw(self, data: bytes, digest: str) -> None:  # noqa: D102
        self._wait().append(("raw", data, digest))

    def put_segment(self, table: str, data: bytes | memoryview) -> str:  # noqa: D102
        self._wait().append((table, data, ""))
        return hashlib.sha256(data).hexdigest()

    def commit(self, body: dict[str, Any]) -> Head:  # noqa: D102
        head = super().commit(body)
        for table, data, digest in self._wait():
            if table == "raw":
                super().put_raw(data, digest)
            else:
                super().put_segment(table, data)
        self.waiting = []
        return head

    def _wait(self) -> list[Any]:
        if not hasattr(self, "waiting"):
            self.waiting = []
        return self.waiting


@pytest.mark.parametrize("mode", ["eio", "death"])
def test_manifest_before_its_files_is_noticed(tmp_path: Path, mode: Mode) -> None:
    assert len(sweep(tmp_path / "sweep", mode, ManifestFirst).broken) > 20


class NoReadBack(Store):
    """Planted bug: what was written is not looked at again."""

    def _check(self, *_: Any) -> None:
        return None


def test_missing_read_back_is_noticed(tmp_path: Path) -> None:
    assert len(sweep(tmp_path / "sweep", "wrong_byte", NoReadBack).broken) >= 8


class OneWriteIsEnough(Store):
    """Planted bug: a short write is taken for a whole one."""

    def _write(self, fd: int, data: bytes | memoryview) -> None:
        self.disk.write(fd, data)

    def _check(self, *_: Any) -> None:
        return None


def test_ignored_short_write_is_noticed(tmp_path: Path) -> None:
    assert len(sweep(tmp_path / "sweep", "short_write", OneWriteIsEnough).broken) >= 8


def _race(root: Path, disk: Disk) -> list[str]:
    """Two writers on the same number: the second links between the first one's look and link. The ids that are kept."""
    inner = disk.link

    def link(source: Path, target: Path) -> None:
        if target.name == "00000001.json":
            Store(root).commit({"captures": [{"capture_id": "theirs"}], "segments": []})
        inner(source, target)

    setattr(disk, "link", link)  # noqa: B010 - one object's method
    Store(root, disk).commit({"captures": [{"capture_id": "mine"}], "segments": []})
    return [capture["capture_id"] for manifest in Store(root).manifests() for capture in manifest["captures"]]


class Replacing(Disk):
    """Planted bug: a rename gives the final name, and takes it from whoever has it."""

    def link(self, source: Path, target: Path) -> None:  # noqa: D102
        os.replace(source, target)  # noqa: PTH105 - the planted bug
        source.touch()


def test_rename_in_place_of_link_loses_a_batch_and_link_does_not(store: Store, tmp_path: Path) -> None:
    assert _race(store.root, Disk()) == ["theirs", "mine"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "manifests").mkdir()
    (other / "tmp").mkdir()
    assert _race(other, Replacing()) == ["mine"]
