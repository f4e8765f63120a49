"""Run two batches against a disk that fails at one operation, and say which promises are broken afterwards."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from machine import Death, FaultyDisk, Machine, Mode

from pipeline.errors import StoreError
from pipeline.store import Head, Store, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

POWER = ("all", "names", "half", "dice")
AGAIN = ("all", "dice")
"""Patterns after which the work is done again: with the others a look is enough."""


@dataclass(frozen=True)
class Batch:
    """Captures by id, and segments by table."""

    captures: dict[str, bytes]
    segments: dict[str, bytes]


BATCHES = (
    Batch({"a": b"first capture\n", "b": b"second capture\n"}, {"gpu_list": b"PAR1-one", "captures": b"PAR1-two"}),
    Batch({"c": b"third capture\n"}, {"captures": b"PAR1-three"}),
)


@dataclass
class Run:
    """One run of the batches: what was acknowledged before the fault."""

    acknowledged: list[Head] = field(default_factory=list)
    error: BaseException | None = None


def write(store: Store, batch: Batch) -> Head:
    """Put everything of a batch and commit it, as an ingest does."""
    for data in batch.captures.values():
        store.put_raw(data, hashlib.sha256(data).hexdigest())
    segments = [{"table": name, "sha256": store.put_segment(name, data)} for name, data in batch.segments.items()]
    captures = [
        {"capture_id": name, "capture_sha256": hashlib.sha256(data).hexdigest()}
        for name, data in batch.captures.items()
    ]
    return store.commit({"captures": captures, "segments": segments})


def run(root: Path, disk: FaultyDisk, make: type[Store] = Store) -> Run:
    """Open (or make) the store and commit the batches that are not in it, until done or stopped by a fault."""
    made = Run()
    try:
        opened = open_store(root, create=True, disk=disk)
        store = make(root, disk, opened.dirty)
        known = {capture["capture_id"] for manifest in store.manifests() for capture in manifest["captures"]}
        for batch in BATCHES:
            if known & set(batch.captures):
                store.settle()  # as an ingest that has nothing to add does, before it names the head
            else:
                made.acknowledged.append(write(store, batch))
    except (StoreError, OSError, Death) as error:
        made.error = error
    disk.leave()
    return made


def bytes_of(root: Path) -> dict[str, bytes]:
    """Every file that the manifests list, and the manifests: what two equal stores have in common."""
    store = open_store(root)
    kept = {path.name: path.read_bytes() for path in (root / "manifests").iterdir()}
    for manifest in store.manifests():
        for digest, path in _listed(store, manifest):
            kept[digest] = path.read_bytes() if path.exists() else b"missing"
    return kept


def _listed(store: Store, manifest: dict[str, Any]) -> list[tuple[str, Path]]:
    raw = [(entry["capture_sha256"], store.raw_path(entry["capture_sha256"])) for entry in manifest["captures"]]
    segments = [
        (entry["sha256"], store.segment_path(entry["table"], entry["sha256"])) for entry in manifest["segments"]
    ]
    return raw + segments


def broken_promises(root: Path, acknowledged: list[Head]) -> list[str]:
    """Look at the store without repairing it: everything that should not be so."""
    if not (root / "FORMAT").exists():
        # A store that was never finished: nothing can have been acknowledged, and it opens when made again.
        return ["an acknowledged store is gone"] if acknowledged else []
    try:
        store = open_store(root)
        manifests, head = store.manifests(), store.head()
    except StoreError as error:
        return [f"does not open: {error}"]
    broken = []
    if head.number < len(acknowledged):
        broken.append(f"head is {head.number}, {len(acknowledged)} batches were acknowledged")
    if acknowledged and head.number == len(acknowledged) and head != acknowledged[-1]:
        broken.append("head is not the one that was acknowledged")
    for manifest in manifests:
        for digest, path in _listed(store, manifest):
            if not path.exists():
                broken.append(f"manifest {manifest['number']} lists {path.name}, which is missing")
            elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                broken.append(f"manifest {manifest['number']} lists {path.name}, whose bytes are others")
    return broken


@dataclass
class Tally:
    """Faults injected and promises broken."""

    faults: int = 0
    broken: list[str] = field(default_factory=list)


def operations(folder: Path, make: type[Store] = Store) -> tuple[list[str], dict[str, bytes]]:
    """The operations of a run without fault, and what it leaves."""
    disk = FaultyDisk(Machine())
    made = run(folder / "evidence", disk, make)
    if made.error is not None:
        raise AssertionError from made.error
    return disk.log, bytes_of(folder / "evidence")


def sweep(folder: Path, mode: Mode, make: type[Store] = Store) -> Tally:
    """Fail every single operation once; after each fault look, run again on a healthy disk, and compare."""
    folder.mkdir()
    (folder / "plain").mkdir()
    log, expected = operations(folder / "plain", make)
    tally = Tally()
    for at in range(1, len(log) + 1):
        root = folder / str(at) / "evidence"
        root.parent.mkdir()
        disk = FaultyDisk(Machine(), mode, at)
        made = run(root, disk, make)
        if not disk.injected:
            continue
        tally.faults += 1
        name = f"{mode} at {at} ({log[at - 1]})"
        silent = mode == "short_write"
        if silent == (made.error is not None):
            tally.broken.append(f"{name}: ended with {made.error!r}")
        tally.broken += [f"{name}: {said}" for said in broken_promises(root, made.acknowledged)]
        tally.broken += [f"{name}: {said}" for said in _again(root, FaultyDisk(Machine()), make, expected)]
        shutil.rmtree(root)
    return tally


def _again(root: Path, disk: FaultyDisk, make: type[Store], expected: dict[str, bytes]) -> list[str]:
    again = run(root, disk, make)
    if again.error is not None:
        return [f"the next run fails: {again.error!r}"]
    return [] if bytes_of(root) == expected else ["the next run does not lead to the same store"]


def power_sweep(folder: Path, patterns: Sequence[str] = POWER, planted: str = "") -> Tally:
    """Cut the power before every single operation, and after the last, with every pattern of loss."""
    folder.mkdir()
    (folder / "plain").mkdir()
    log, expected = operations(folder / "plain")
    tally = Tally()
    for at in range(1, len(log) + 2):
        for pattern in patterns:
            root = folder / f"{at}-{pattern}" / "evidence"
            root.parent.mkdir()
            machine = Machine(planted == "drops_sync", planted == "drops_sync_folder")
            disk = FaultyDisk(machine, "death", at)
            made = run(root, disk)
            machine.cut_power(root, pattern)
            tally.faults += 1
            name = f"power cut ({pattern}) before operation {at} of {len(log)}"
            tally.broken += [f"{name}: {said}" for said in broken_promises(root, made.acknowledged)]
            if pattern in AGAIN:
                tally.broken += [f"{name}: {said}" for said in _again(root, FaultyDisk(Machine()), Store, expected)]
            shutil.rmtree(root, ignore_errors=True)  # the cut may have taken it
    return tally


def death_then_power_sweep(folder: Path) -> Tally:
    """A process dies at every operation; another finishes its work and is thanked; then the power is cut.

    What the second process finds in place was perhaps never forced to the device by the first.
    """
    folder.mkdir()
    (folder / "plain").mkdir()
    log, _ = operations(folder / "plain")
    tally = Tally()
    for at in range(1, len(log) + 1):
        root = folder / str(at) / "evidence"
        root.parent.mkdir()
        machine = Machine()
        run(root, FaultyDisk(machine, "death", at))
        run(root, FaultyDisk(machine))
        machine.cut_power(root, "all")
        tally.faults += 1
        name = f"death at {at} ({log[at - 1]}), finished by another process, then a power cut"
        whole = broken_promises(root, [])
        if not whole and (not (root / "FORMAT").exists() or open_store(root).head().number != len(BATCHES)):
            whole = ["an acknowledged batch is gone"]
        tally.broken += [f"{name}: {said}" for said in whole]
    return tally
