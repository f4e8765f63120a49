"""The evidence store: content-addressed raw files and segments, and a chain of manifests.

- A file is put as: temporary file, write, read back and hash, fsync, `link` to the final name, fsync the folder.
- Order of a batch: raw files, segments, then its manifest, which is the only commit point. A reader reads the
  manifests and only what they list, so a crash at any moment shows the old head or the new one.
- `link` is the compare-and-swap: whoever loses takes the next number. There is no lock, no HEAD file, and no clock.
- A manifest holds the hash of the one before: whoever kept a head can detect any later change of history. That is
  tamper-evident against a kept head, not tamper-proof.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipeline.disk import FOLDER_MODE, Disk
from pipeline.errors import StoreError
from schemas.hashes import canonical_json, sha256

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMAT = {"format": "gpu-evidence-store/1", "hash": "sha256"}
_CHUNK = 8 << 20
_counter = itertools.count()


@dataclass(frozen=True)
class Head:
    """The last manifest: its number (0: none) and its hash."""

    number: int = 0
    sha256: str | None = None


class ConflictError(Exception):
    """Another writer committed some of the same captures first: look again at what is new."""


@dataclass
class Store:
    """A store on disk. Use `open_store`."""

    root: Path
    disk: Disk = field(default_factory=Disk)
    dirty: set[Path] = field(default_factory=set)

    # -- reading ---------------------------------------------------------------------------------------------------

    def manifests(self) -> list[dict[str, Any]]:
        """Every manifest in order, after checking that numbers are contiguous and each holds the hash before it."""
        return [manifest for manifest, _ in self._chain()]

    def head(self) -> Head:
        """Number and hash of the last manifest."""
        head = Head()
        for manifest, digest in self._chain():
            head = Head(manifest["number"], digest)
        return head

    def _chain(self) -> Iterator[tuple[dict[str, Any], str]]:
        folder = self.root / "manifests"
        previous = None
        for number, name in enumerate(self._manifest_names(folder), start=1):
            path = folder / name
            if name != _manifest_name(number):
                message = f"found manifest {name}, expected {_manifest_name(number)}"
                raise _damaged(path, message, "manifest_missing")
            with _named_faults(path):
                data = self.disk.read(path)
            try:
                manifest = json.loads(data)
            except ValueError as error:
                raise _damaged(path, f"manifest is not JSON: {error}", "manifest_damaged") from error
            if not isinstance(manifest, dict) or canonical_json(manifest) != data or manifest.get("number") != number:
                raise _damaged(path, "manifest is not the canonical JSON that was written", "manifest_damaged")
            if manifest.get("previous") != previous:
                raise _damaged(path, f"previous is {manifest.get('previous')}, expected {previous}", "chain_broken")
            previous = sha256(data)
            yield manifest, previous

    def _manifest_names(self, folder: Path) -> list[str]:
        """List the manifests. A long folder is read in parts, and can miss a name while others are added: again."""
        names: list[str] = []
        with _named_faults(folder):
            for _ in range(3):
                names = self.disk.names(folder) if self.disk.exists(folder) else []
                if names == [_manifest_name(number) for number in range(1, len(names) + 1)]:
                    break
        return names

    def raw_path(self, digest: str) -> Path:
        """Where a capture's bytes are."""
        return self.root / "raw" / digest[:2] / digest

    def segment_path(self, table: str, digest: str) -> Path:
        """Where a segment is."""
        return self.root / "tables" / table / f"{digest}.parquet"

    def read_raw(self, digest: str) -> bytes:
        """Read a capture's bytes, checked against their name."""
        return self._read(self.raw_path(digest), digest)

    def _read(self, path: Path, digest: str) -> bytes:
        try:
            with _named_faults(path):
                data = self.disk.read(path)
        except FileNotFoundError as error:
            raise _damaged(path, "file is missing", "file_missing") from error
        if sha256(data) != digest:
            raise _damaged(path, f"bytes hash to {sha256(data)}, expected {digest}", "hash_mismatch")
        return data

    # -- writing ---------------------------------------------------------------------------------------------------

    def put_raw(self, data: bytes, digest: str) -> None:
        """Keep a capture's bytes under their hash."""
        self._put(self.raw_path(digest), data)

    def put_segment(self, table: str, data: bytes | memoryview) -> str:
        """Keep a segment under its hash, and return the hash."""
        digest = sha256(data)
        self._put(self.segment_path(table, digest), data)
        return digest

    def commit(self, body: dict[str, Any]) -> Head:
        """Publish a batch as the next manifest. Everything it names must have been put before."""
        for folder in sorted(self.dirty):
            self._sync_folder(folder)
        self.dirty.clear()
        mine = {capture["capture_id"] for capture in body["captures"]}
        while True:
            manifests = list(self._chain())
            if any(capture["capture_id"] in mine for manifest, _ in manifests for capture in manifest["captures"]):
                self.settle()
                raise ConflictError
            number = len(manifests) + 1
            previous = manifests[-1][1] if manifests else None
            data = canonical_json({**body, "number": number, "previous": previous})
            if self._put_new(self.root / "manifests" / _manifest_name(number), data):
                self.settle()
                return Head(number, sha256(data))

    def settle(self) -> None:
        """Force the names of the store and its manifests to the device.

        What is found here may have been left by a process that died before it did so: nobody is told that evidence is
        saved before this. A folder above the store that may only be passed through holds its name already.
        """
        above = [self.root.parent] if os.access(self.root.parent, os.R_OK) else []
        for folder in (*above, self.root, self.root / "manifests"):
            self._sync_folder(folder)

    def _sync_folder(self, folder: Path) -> None:
        with _named_faults(folder):
            self.disk.sync_folder(folder)

    def _put(self, path: Path, data: bytes | memoryview) -> None:
        """Put content under its hash. A name that is taken is not trusted: its bytes are compared and forced down."""
        with _named_faults(path, len(data)):
            if self.disk.exists(path) or not self._put_new(path, data):
                if self.disk.read(path) != bytes(data):
                    raise _damaged(path, "the bytes here are not what their name says", "hash_mismatch")
                fd = self.disk.reopen(path)
                try:
                    self.disk.sync(fd)
                finally:
                    self.disk.close(fd)
        self.dirty.update(folder for folder in path.parents if folder.is_relative_to(self.root))

    def _put_new(self, path: Path, data: bytes | memoryview) -> bool:
        """Write, read back, sync and link. False when the name is taken."""
        with _named_faults(path, len(data)):
            self._folders(path.parent)
            temporary, fd = self._temporary()
            try:
                try:
                    self._write(fd, data)
                    self._check(fd, data, path)
                    self.disk.seal(fd)
                    self.disk.sync(fd)
                finally:
                    self.disk.close(fd)
                try:
                    self.disk.link(temporary, path)
                except FileExistsError:
                    return False
                return True
            finally:
                self.disk.unlink(temporary)

    def _temporary(self) -> tuple[Path, int]:
        """A new temporary file. Process ids repeat (in a container at every start), and the dead leave litter."""
        while True:
            path = self.root / "tmp" / f"{os.getpid()}-{next(_counter)}"
            with suppress(FileExistsError):
                return path, self.disk.create(path)

    def _write(self, fd: int, data: bytes | memoryview) -> None:
        view = memoryview(data).cast("B")
        while view:
            written = self.disk.write(fd, view[:_CHUNK])
            if not written:
                raise OSError(errno.EIO, "the device takes no bytes")
            view = view[written:]

    def _check(self, fd: int, data: bytes | memoryview, path: Path) -> None:
        """Read back what was written before it gets a name. Comparing says as much as hashing again, much faster."""
        view = memoryview(data).cast("B")
        for offset in range(0, len(view) + 1, _CHUNK):
            # bytes against bytes is one memcmp; against a memoryview it would go byte by byte
            if self.disk.read_back(fd, _CHUNK, offset) != bytes(view[offset : offset + _CHUNK]):
                message = f"what was read back differs from what was written, within {_CHUNK} bytes of byte {offset}"
                raise _damaged(path, message, "write_not_verified")

    def _folders(self, folder: Path) -> None:
        missing = []
        while not self.disk.exists(folder):
            missing.append(folder)
            folder = folder.parent
        for path in reversed(missing):
            self.disk.make_folder(path)


class _named_faults:  # noqa: N801 - a context manager reads as a statement
    """Turn an operating-system error into ours, with the file and what is needed."""

    def __init__(self, path: Path, size: int = 0) -> None:
        self.path = path
        self.size = size

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, (FileExistsError, FileNotFoundError)) or not isinstance(error, OSError):
            return
        where = str(self.path)
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            message = f"no room for {self.size} bytes; free some and run the same command again, nothing is lost"
            raise StoreError(message, code="store_full", where=where) from error
        message = f"{error.strerror or error}; run the same command again once it is mended, what was committed stays"
        raise StoreError(message, code="store_io", where=where) from error


def _manifest_name(number: int) -> str:
    return f"{number:08d}.json"


def open_store(root: Path, *, create: bool = False, disk: Disk | None = None) -> Store:
    """Open a store, or make an empty one. Refuses a folder that is not a store, an unknown format, a shared mode."""
    store = Store(root, disk or Disk())
    marker = root / "FORMAT"
    if not store.disk.exists(marker):
        if not create:
            raise StoreError("no store here; run `gpu-evidence ingest` first", code="no_store", where=str(root))
        _initialise(store, marker)
    with _named_faults(marker):
        found = store.disk.read(marker)
    if canonical_json(FORMAT) != found:
        raise StoreError(
            f"FORMAT is not {FORMAT['format']}; use the version that wrote it", code="unknown_format", where=str(marker)
        )
    if root.stat().st_mode & 0o002:
        raise StoreError(
            "everybody can write to the store; run chmod o-w on it", code="store_writable", where=str(root)
        )
    return store


def _initialise(store: Store, marker: Path) -> None:
    root = store.root
    if root.exists() and not root.is_dir():
        raise StoreError("is a file, expected a folder", code="not_a_folder", where=str(root))
    known = {"raw", "tables", "manifests", "tmp"}
    if root.exists() and set(store.disk.names(root)) - known:
        raise StoreError(
            "folder is not empty and not a store; name another with --store", code="not_a_store", where=str(root)
        )
    with _named_faults(root):
        root.parent.mkdir(parents=True, exist_ok=True)
        for folder in (root, *(root / name for name in sorted(known))):
            store.disk.make_folder(folder)
    data = canonical_json(FORMAT)
    store._put(marker, data)  # noqa: SLF001 - the marker is put like any other file
    store.settle()
    if root.stat().st_mode & 0o777 != FOLDER_MODE and not os.access(root, os.W_OK):
        raise StoreError("folder cannot be written", code="store_io", where=str(root))


def _damaged(path: Path, message: str, code: str) -> StoreError:
    return StoreError(f"{message}; restore the file from a copy, or start a new store", code=code, where=str(path))
