"""The one seam through which the store touches the file system, so that a test can fail every single operation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILE_MODE = 0o440
FOLDER_MODE = 0o750


class Disk:
    """File-system verbs of the store. Modes do not depend on the umask: evidence is never writable by others."""

    def make_folder(self, path: Path) -> None:
        """Create a folder (parents exist already); one that is there is fine."""
        try:
            path.mkdir(mode=FOLDER_MODE)
        except FileExistsError:
            return
        path.chmod(FOLDER_MODE)

    def create(self, path: Path) -> int:
        """Open a new file for writing and reading back; it must not exist."""
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)

    def reopen(self, path: Path) -> int:
        """Open a file that is there, to force it to the device."""
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Write some of the data, and say how much."""
        return os.write(fd, data)

    def read_back(self, fd: int, size: int, offset: int) -> bytes:
        """Read from an open file."""
        return os.pread(fd, size, offset)

    def seal(self, fd: int) -> None:
        """Make the file read-only."""
        os.fchmod(fd, FILE_MODE)

    def sync(self, fd: int) -> None:
        """Force the file's bytes to the device."""
        os.fsync(fd)

    def close(self, fd: int) -> None:
        """Close the file."""
        os.close(fd)

    def link(self, source: Path, target: Path) -> None:
        """Give the file its final name, atomically; fails when the name is taken."""
        os.link(source, target)

    def unlink(self, path: Path) -> None:
        """Remove a temporary name."""
        path.unlink()

    def sync_folder(self, path: Path) -> None:
        """Force the folder's names to the device."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def read(self, path: Path) -> bytes:
        """Read a whole file."""
        return path.read_bytes()

    def names(self, path: Path) -> list[str]:
        """Names in a folder, sorted: the order of a listing decides nothing."""
        return sorted(entry.name for entry in path.iterdir())

    def exists(self, path: Path) -> bool:
        """Whether a name is there."""
        return path.exists()
