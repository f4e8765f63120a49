"""The bytes behind a number: a capture by (the beginning of) its SHA-256, and the lines of it."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.errors import CaptureError, UsageError
from pipeline.parsed import split_lines, to_utf8

if TYPE_CHECKING:
    from pipeline.store import Store

_PLACE = re.compile(r"([0-9a-f]{6,64})(?::([1-9][0-9]{0,9}))?", re.ASCII)


@dataclass(frozen=True)
class Shown:
    """A capture's bytes, where it was found, and the lines asked for."""

    sha256: str
    paths: tuple[str, ...]
    line: int | None
    data: bytes
    lines: tuple[tuple[int, str], ...]

    def as_json(self) -> dict[str, Any]:
        """Return the public JSON form."""
        lines = [{"line": number, "text": text} for number, text in self.lines]
        return {"capture_sha256": self.sha256, "paths": list(self.paths), "line": self.line, "lines": lines}


def find(store: Store, place: str, around: int = 0) -> Shown:
    """Find `SHA[:LINE]`; six hex digits are enough where they name one capture."""
    match = _PLACE.fullmatch(place)
    if not match:
        message = f"{place!r} is not SHA or SHA:LINE; expected at least 6 hex digits, as a report prints them"
        raise UsageError(message, code="bad_place")
    entries = [entry for manifest in store.manifests() for entry in manifest["captures"]]
    found = sorted(
        {entry["capture_sha256"] for entry in entries if (entry["capture_sha256"] or "").startswith(match[1])}
    )
    if len(found) != 1:
        message = (
            f"{len(found)} captures begin with {match[1]}, expected one; give more digits or look at the captures view"
        )
        raise UsageError(message, code="no_such_capture" if not found else "ambiguous_capture")
    data = store.read_raw(found[0])
    paths = tuple(sorted({entry["path"] for entry in entries if entry["capture_sha256"] == found[0]}))
    lines = _lines(data)
    line = int(match[2]) if match[2] else None
    if line is not None and line > len(lines):
        raise UsageError(f"{paths[0]} has {len(lines)} lines, no line {line}", code="no_such_line")
    first, last = (1, len(lines)) if line is None else (max(1, line - around), min(len(lines), line + around))
    return Shown(found[0], paths, line, data, tuple((number, lines[number - 1]) for number in range(first, last + 1)))


def _lines(data: bytes) -> list[str]:
    with suppress(CaptureError):  # not text at all: its bytes are shown as they are
        data = to_utf8(data)
    return [line.decode("utf-8", "backslashreplace") for line in split_lines(data)]
