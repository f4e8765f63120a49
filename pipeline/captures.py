"""Find captures on disk: files, their sidecars, their kinds, and the identity of each observation.

- `<file>.json` beside `<file>` is its sidecar; a JSON file without such a neighbour is a capture itself. Names that
  begin with a dot are not looked at. Links inside a folder are not followed: they are refused and named.
- A file is opened once, must be a regular file, and is read whole; what cannot be read costs only itself.
- Content and observation are two things: the same bytes seen at two times are two captures of one content.
"""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import pydantic

from pipeline.errors import CaptureError, UsageError
from pipeline.parsed import CaptureFacts, Issue
from schemas.hashes import canonical_json, sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

MAX_CAPTURE_BYTES = 4 << 30
_HEAD = 65_536
_SIDE_FILE = re.compile(r"\.json(?:-freqs)?-bin/[0-9]+\.bin$", re.ASCII)
"""Binary files that NVBench writes beside its JSON: raw numbers, which nothing in their content tells."""
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.,]+([Zz]|[+-][0-9]{2}:?[0-9]{2})", re.ASCII)


class Sidecar(pydantic.BaseModel):
    """What is known of a capture beside its bytes. Everything is optional; unknown keys are kept."""

    model_config = pydantic.ConfigDict(extra="allow", frozen=True)

    kind: str | None = None
    command: str | list[str] | None = None
    captured_at: pydantic.AwareDatetime | None = None
    source: Literal["host_observation", "admin_inventory", "operator_assertion", "published_claim", "mock"] | None = (
        None
    )
    simulated: pydantic.StrictBool | None = None
    masked: pydantic.StrictBool | None = None
    viewer: Literal["host", "restricted"] | None = None
    host: str | None = None
    set: str | None = None
    timezone: str | None = None
    side: Literal["baseline", "candidate"] | None = None
    claimed_sha256: str | None = pydantic.Field(default=None, pattern="^[0-9a-f]{64}$")
    note: str | None = None

    @pydantic.field_validator("captured_at", mode="before")
    @classmethod
    def _spelled_out(cls, value: Any) -> Any:
        """A bare number could be seconds or milliseconds: not guessed."""
        if value is None or isinstance(value, datetime) or (isinstance(value, str) and _TIME.fullmatch(value)):
            return value
        raise ValueError("expected an ISO 8601 time with its zone")

    @pydantic.field_validator("captured_at")
    @classmethod
    def _has_utc(cls, value: datetime | None) -> datetime | None:
        """A time that UTC has no year for is refused here, and not met later."""
        try:
            if value is not None:
                value.astimezone(UTC)
        except OverflowError as error:
            raise ValueError("expected a time from year 1 to 9999 in UTC") from error
        return value

    def command_text(self) -> str | None:
        """Return the command as one text."""
        return " ".join(self.command) if isinstance(self.command, list) else self.command


@dataclass(frozen=True)
class Capture:
    """An observation: where it was found, its bytes (None: unreadable), its facts and its identity."""

    path: str
    file: Path
    data: bytes | None
    sha256: str | None
    sidecar: Sidecar
    kind: str | None
    issues: tuple[Issue, ...] = ()

    @property
    def facts(self) -> CaptureFacts:
        """What a parser may know."""
        return _facts(self.sidecar)

    @property
    def capture_id(self) -> str:
        """SHA-256 of the canonical JSON of content, kind, command, time, host, set, source and simulated."""
        if self.sha256 is None:
            return sha256(canonical_json({"unreadable": self.issues[-1].code, "path": self.path}))
        at = self.sidecar.captured_at
        facts = {
            "content": self.sha256,
            "kind": self.kind,
            "command": self.sidecar.command_text(),
            "captured_at": None if at is None else at.astimezone(UTC).isoformat(timespec="milliseconds"),
            "host": self.sidecar.host,
            "set": self.sidecar.set,
            "source": self.sidecar.source,
            "simulated": self.sidecar.simulated,
        }
        if any(issue.code == "sidecar_invalid" for issue in self.issues):
            # Its facts are lost, not absent: it must not stand for a capture that has none, nor for its mended self.
            facts["sidecar"] = "invalid"
        return sha256(canonical_json(facts))


def _facts(sidecar: Sidecar) -> CaptureFacts:
    return CaptureFacts(sidecar.command_text(), sidecar.masked, sidecar.timezone, sidecar.side)


def require(paths: Iterable[Path]) -> None:
    """Refuse a path that is not there, before anything is made for it."""
    for path in paths:
        if not os.path.lexists(path):
            raise UsageError("no such file or folder", code="no_such_path", where=str(path))


def find(paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Files below the paths, as (shown path, file), in the order of the shown path. Sidecars are left out."""
    found: set[tuple[str, Path]] = set()  # two folders may hold files that are shown alike
    for path in paths:
        require([path])
        for file in _walk(path) if path.is_dir() else [path]:
            below = file.relative_to(path).as_posix() if file != path else ""
            top = "" if path.name in ("", ".", "..") else path.name
            shown = "/".join(part for part in (top, below) if part) or path.resolve().name
            found.add((shown, file))
    files = {file for _, file in found}
    for shown, file in sorted(found, key=lambda entry: (os.fsencode(entry[0]), os.fsencode(entry[1]))):
        if not (file.suffix == ".json" and file.with_suffix("") in files):
            yield shown, file


def _walk(top: Path) -> Iterator[Path]:
    folders = [top]
    while folders:  # not by recursion: a hostile archive nests deeper than Python does
        folder = folders.pop()
        files: list[Path] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    (folders if entry.is_dir(follow_symlinks=False) else files).append(folder / entry.name)
        except OSError:
            yield folder  # cannot be listed: read() will say why
        yield from files


def read_file(file: Path) -> bytes:
    """Read a regular file once, without following a link and without ever blocking."""
    fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as opened:  # noqa: PTH123 - the descriptor is open already
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "not a regular file")
        if status.st_size > MAX_CAPTURE_BYTES:
            raise OSError(0, f"{status.st_size} bytes, more than the limit of {MAX_CAPTURE_BYTES}")
        return opened.read()


def load(
    shown: str,
    file: Path,
    kind: str | None = None,
    begin: Callable[[str, bytes, CaptureFacts], object] | None = None,
) -> Capture:
    """Read a file and its sidecar, tell its kind, and name the observation. Never raises for a bad file.

    Hashing a large file takes as long as parsing it: `begin` is told what there is to parse before the hash is known.
    """
    shown = _readable(shown)
    sidecar, issues = _sidecar(file)
    try:
        data = read_file(file)
    except OSError as error:
        what = "a link, which is not followed" if file.is_symlink() else (error.strerror or str(error))
        message = f"cannot be read: {what}; expected a regular file"
        return Capture(shown, file, None, None, sidecar, None, (*issues, Issue("error", "unreadable", message)))
    asked = kind or sidecar.kind or ("perf_gate" if _SIDE_FILE.search(shown) else None)
    told, remark = tell_kind(asked, data)
    if begin and told:
        begin(told, data, _facts(sidecar))
    return Capture(shown, file, data, sha256(data), sidecar, told, (*issues, *([remark] if remark else [])))


def _readable(name: str) -> str:
    """A file name as text that every format can hold: bytes that are not UTF-8 are written out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def tell_kind(asked: str | None, data: bytes) -> tuple[str | None, Issue | None]:
    """The kind of a capture, as asked for or told from its content; or None and the reason."""
    from pipeline.parsed import diagnostic, split_lines, to_utf8
    from pipeline.parsers import KINDS

    if asked in KINDS:
        return asked, None
    if asked is not None:
        message = f"kind {asked!r} is not one of {', '.join(KINDS)}; correct the sidecar"
        return None, Issue("error", "kind_unknown", message)
    if not data:
        return None, Issue("error", "empty", "file has no bytes, expected a capture; capture it again")
    try:
        head = to_utf8(data[:_HEAD], "replace")
    except CaptureError as error:
        return None, Issue("error", error.code, error.message)
    for name, known in KINDS.items():
        if known.detect(head):
            return name, None
    for number, line in enumerate(split_lines(head)[:20], start=1):
        if said := diagnostic(line.decode("utf-8", "replace"), number):
            return None, said
    code = "binary" if b"\0" in head else "kind_unknown"
    return None, Issue("error", code, f"content is none of {', '.join(KINDS)}; name the kind in a sidecar")


def _sidecar(file: Path) -> tuple[Sidecar, list[Issue]]:
    path = file.parent / f"{file.name}.json"
    try:
        if stat.S_ISDIR(path.lstat().st_mode):
            return Sidecar(), []
    except OSError:
        return Sidecar(), []  # there is none, or a name that long cannot be
    try:
        content = json.loads(read_file(path), object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
        if not isinstance(content, dict):
            raise ValueError("it is not an object")  # noqa: TRY004 - one error for all faults of the text
        canonical_json(content)
    except (OSError, ValueError, RecursionError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error  # never with the path on this machine
        message = f"sidecar {_readable(path.name)} is not usable JSON ({why}); its facts stay unknown; correct it"
        return Sidecar(), [Issue("error", "sidecar_invalid", message)]
    issues: list[Issue] = []
    while True:
        try:
            return Sidecar.model_validate(content), issues
        except pydantic.ValidationError as error:
            for key in {str(fault["loc"][0]) for fault in error.errors()}:
                message = (
                    f"sidecar key {key!r} holds {str(content.pop(key))[:80]!r}: not allowed; the fact stays unknown"
                )
                issues.append(Issue("error", "sidecar_invalid", message, None, key))
            issues.sort(key=lambda issue: issue.subject or "")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key occurs twice")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def row(capture: Capture) -> dict[str, Any]:
    """Return the facts of a capture as a row of `captures`; status and counts are filled in by ingest."""
    known = capture.sidecar
    claimed = known.claimed_sha256
    status = None if claimed is None else "claim_verified" if claimed == capture.sha256 else "claim_unverified"
    at: datetime | None = known.captured_at
    return {
        "capture_id": capture.capture_id,
        "capture_sha256": capture.sha256,
        "kind": capture.kind,
        "path": capture.path,
        "bytes": None if capture.data is None else len(capture.data),
        "command": known.command_text(),
        "captured_at": None if at is None else at.astimezone(UTC),
        "host": known.host,
        "set": known.set,
        "viewer": known.viewer,
        "timezone": known.timezone,
        "source": known.source,
        "is_simulated": known.simulated,
        "is_masked": known.masked,
        "claimed_sha256": claimed,
        "claim_status": status,
        "note": known.note,
        "sidecar": canonical_json(known.model_dump(mode="json", exclude_unset=True)).decode(),
    }
