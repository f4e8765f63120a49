"""A machine that can fail: a Disk that counts its operations, fails one of them, and knows what a power cut would lose.

`Machine` remembers what has been forced to the device: bytes of a file by `sync`, names of a folder by `sync_folder`.
`FaultyDisk` is one process on that machine. `cut_power` takes away what was not forced.
"""

# ruff: noqa: D102 - the verbs are explained in Disk
from __future__ import annotations

import errno
import os
import random
import shutil
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pipeline.disk import Disk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Mode = Literal["none", "eio", "eio_for_ever", "disk_full", "short_write", "wrong_byte", "death"]
_NEEDS_ROOM = frozenset({"make_folder", "create", "write", "link", "sync", "sync_folder"})


class Death(BaseException):
    """The process is gone: nothing of it runs any more."""


@dataclass
class Machine:
    """What is safe on the device. With `drops_sync` the device lies: planted, so that the sweep has to notice."""

    drops_sync: bool = False
    drops_sync_folder: bool = False
    inodes: set[int] = field(default_factory=set)
    names: set[Path] = field(default_factory=set)

    def settle(self, root: Path) -> None:
        """Everything below (and the root itself) is on the device."""
        for path in [root, *root.rglob("*")]:
            self.names.add(path)
            self.inodes.add(path.stat().st_ino)

    def cut_power(self, root: Path, pattern: str) -> None:
        """Lose what was not forced. Patterns: all of it, names only, bytes only (empty, or half), or by dice."""
        dice = random.Random(pattern)  # noqa: S311 - which names survive must be the same at every run

        def lost(kind: str) -> bool:
            return {"all": True, "names": kind == "name", "empty": kind == "bytes", "half": kind == "bytes"}.get(
                pattern, dice.random() < 0.5
            )

        for path in sorted([root, *root.rglob("*")]):
            if not os.path.lexists(path):
                continue  # below a folder that is lost already
            if path not in self.names and lost("name"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            elif path.is_file() and path.stat().st_ino not in self.inodes and lost("bytes"):
                path.chmod(0o600)
                os.truncate(path, path.stat().st_size // 2 if pattern == "half" else 0)


class FaultyDisk(Disk):
    """The disk as one process sees it. Operation `at` (from 1) meets the fault; with `none` it only counts."""

    def __init__(self, machine: Machine, mode: Mode = "none", at: int = 0) -> None:
        self.machine = machine
        self.mode: Mode = mode
        self.at = at
        self.log: list[str] = []
        self.injected = 0
        self.open: set[int] = set()
        self.lock = threading.Lock()  # an ingest keeps raw bytes in a thread of its own

    def leave(self) -> None:
        """What the kernel does for a process that ended."""
        for fd in sorted(self.open):
            os.close(fd)
        self.open.clear()

    def _step(self, verb: str) -> bool:
        """Count the operation, raise when it has to fail, and say whether it has to go wrong silently."""
        with self.lock:
            self.log.append(verb)
            now = len(self.log)
            due = now >= self.at if self.mode in ("eio_for_ever", "disk_full", "death") else now == self.at
            if self.mode == "none" or not due:
                return False
            if self.mode == "death":
                self.injected += now == self.at
                raise Death
            if self.mode in ("eio", "eio_for_ever"):
                self.injected += 1
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            if self.mode == "disk_full":
                if verb not in _NEEDS_ROOM:
                    return False
                self.injected += 1
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.injected += verb == "write"
            return verb == "write"

    def _do(self, verb: str, call: Callable[..., Any], *args: Any) -> Any:
        self._step(verb)
        return call(*args)

    def make_folder(self, path: Path) -> None:
        self._do("make_folder", super().make_folder, path)

    def create(self, path: Path) -> int:
        fd = int(self._do("create", super().create, path))
        self.open.add(fd)
        return fd

    def reopen(self, path: Path) -> int:
        fd = int(self._do("reopen", super().reopen, path))
        self.open.add(fd)
        return fd

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if self._step("write"):
            if self.mode == "short_write":
                return super().write(fd, data[: max(1, len(data) // 2)])
            wrong = bytearray(data)
            wrong[len(wrong) // 2] ^= 0x10
            return super().write(fd, bytes(wrong))
        return super().write(fd, data)

    def read_back(self, fd: int, size: int, offset: int) -> bytes:
        return bytes(self._do("read_back", super().read_back, fd, size, offset))

    def seal(self, fd: int) -> None:
        self._do("seal", super().seal, fd)

    def sync(self, fd: int) -> None:
        self._step("sync")
        if not self.machine.drops_sync:
            self.machine.inodes.add(os.fstat(fd).st_ino)

    def close(self, fd: int) -> None:
        if self.mode == "death" and len(self.log) >= self.at:
            raise Death
        self.open.discard(fd)
        super().close(fd)  # whatever close() says, the descriptor is gone
        self._step("close")

    def link(self, source: Path, target: Path) -> None:
        self._do("link", super().link, source, target)

    def unlink(self, path: Path) -> None:
        self._do("unlink", super().unlink, path)

    def sync_folder(self, path: Path) -> None:
        self._step("sync_folder")
        if not self.machine.drops_sync_folder:
            self.machine.names |= set(path.iterdir())

    def read(self, path: Path) -> bytes:
        return bytes(self._do("read", super().read, path))

    def names(self, path: Path) -> list[str]:
        return list(self._do("names", super().names, path))

    def exists(self, path: Path) -> bool:
        return bool(self._do("exists", super().exists, path))
