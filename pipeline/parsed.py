"""What a parser is given and what it gives back, and the text helpers that every parser shares.

A parser is a pure function `parse(data: bytes, facts: CaptureFacts) -> Parsed`. It is total: for any bytes it returns,
or raises `CaptureError`, which quarantines the capture. Its ledger accounts for every line (elements in XML and JSON).
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from pipeline.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

MAX_LINE_BYTES = 65_536
"""A longer line is refused by itself; nvidia-smi's longest (a header of 239 columns) has about 7,000."""


Severity = Literal["note", "warning", "error"]


MAX_REMARKS = 1000
"""Remarks of one code about one capture; more are counted."""


@dataclass(frozen=True)
class CaptureFacts:
    """What the sidecar says that a parser may use; None is "not said"."""

    command: str | None = None
    masked: bool | None = None
    timezone: str | None = None
    side: str | None = None


@dataclass(frozen=True)
class Issue:
    """One remark about a capture: becomes a row of `source_errors`. Only errors make exit code 4."""

    severity: Severity
    code: str
    message: str
    line: int | None = None
    subject: str | None = None


@dataclass
class Ledger:
    """Where every line (or element) of a capture went."""

    total: int = 0
    rows: int = 0
    header: int = 0
    blank: int = 0
    structure: int = 0
    refused: int = 0
    counted: Literal["lines", "elements"] = "lines"

    @property
    def is_whole(self) -> bool:
        """Whether the parts add up to the total."""
        return self.total == self.rows + self.header + self.blank + self.structure + self.refused


@dataclass
class Parsed:
    """Tables (without capture_id and capture_sha256, which are stamped later), remarks and the ledger.

    `quarantine` is the reason code when nothing usable was in the capture. An empty answer ("no GPU instances") is an
    answer: no rows and no quarantine.
    """

    tables: dict[str, pa.Table] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    quarantine: str | None = None


@dataclass
class Remarks:
    """Remarks of one capture: a damaged file of a million bad lines gets the first thousand of a code, and a count."""

    issues: list[Issue] = field(default_factory=list)
    failure: str | None = None
    """Code of the first error that nvidia-smi itself reported, or that ended the reading."""
    not_numbers: set[str] = field(default_factory=set)
    """Places (JSON pointers) of bare NaN, read as null."""
    _counts: dict[str, int] = field(default_factory=dict)
    _more: dict[str, tuple[Issue, int]] = field(default_factory=dict)

    def add(
        self,
        severity: Severity,
        code: str,
        message: str,
        line: int | None = None,
        subject: str | None = None,
        most: int = MAX_REMARKS,
    ) -> None:
        """Keep a remark, or only count it where there are too many (`most`) of its code."""
        self._counts[code] = count = self._counts.get(code, 0) + 1
        if count <= most:
            self.issues.append(Issue(severity, code, message, line, subject))
        elif count == most + 1:
            self._more[code] = (Issue(severity, code, message, line), most)

    @property
    def has_errors(self) -> bool:
        """Whether one of the remarks is an error."""
        return any(issue.severity == "error" for issue in self.issues)

    def extend(self, issues: Iterable[Issue]) -> None:
        """Keep or count several."""
        for issue in issues:
            self.add(issue.severity, issue.code, issue.message, issue.line, issue.subject)

    def all(self) -> list[Issue]:
        """All remarks, and for each code that had too many, how many more there were."""
        return self.issues + [
            replace(first, message=f"and {self._counts[code] - most} more like this from here on: {first.message}")
            for code, (first, most) in self._more.items()
        ]


_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def to_utf8(data: bytes, errors: Literal["strict", "replace"] = "strict") -> bytes:
    """Bytes without byte order mark, UTF-16 (a PowerShell redirect) turned into UTF-8. Line count is unchanged."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            body = data[len(bom) :]
            if encoding == "utf-8":
                return body
            # A logger that was killed can leave half a character, in a last line that is cut as well: it stays visible.
            half = "\ufffd" if len(body) % 2 else ""
            try:
                return (body[: len(body) & ~1].decode(encoding, errors) + half).encode()
            except UnicodeError as error:
                raise CaptureError(
                    f"starts with a {encoding} byte order mark but is not {encoding}: {error}", code="undecodable"
                ) from error
    return data


def split_lines(data: bytes) -> list[bytes]:
    """Lines at LF only (CRLF loses its CR); no empty last element. Line n is element n - 1."""
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return [line[:-1] if line.endswith(b"\r") else line for line in lines]


def line_fault(line: bytes) -> tuple[str, str] | None:
    """Why a line cannot be text of nvidia-smi at all: (code, message), or None."""
    if len(line) > MAX_LINE_BYTES:
        return "line_too_long", f"line of {len(line)} bytes, expected at most {MAX_LINE_BYTES}; re-capture the file"
    if b"\0" in line:
        return "nul_bytes", "line holds NUL bytes, expected text; the file was damaged or not closed"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return "invalid_utf8", f"byte {error.start} is not UTF-8 ({error.reason}), expected UTF-8 or UTF-16 with BOM"
    return None


# What shells, ssh and kubectl put around the output; longer lines are never banners.
_BANNER = re.compile(
    r"(?:[^$#>%]*[$#>%] ?|\+ )?(?:sudo )?nvidia-smi(?:\.exe)?(?: .*)?"
    r"|[-=*#]{3,}(?: [^=*#]+ [-=*#]{3,})?|==> .* <=="
    r"|Warning: Permanently added .*|Last login: .*|Connection to .* closed\.?|Defaulted container .*"
)
_BANNER_CHARACTERS = 400


def is_banner(text: str) -> bool:
    """Whether a line is what a shell or a remote login puts around the output."""
    return len(text) <= _BANNER_CHARACTERS and _BANNER.fullmatch(text.strip()) is not None


# Sentences that nvidia-smi prints instead of, before or between its rows (domain: NVML texts). Order matters: the
# first match wins. severity "error" means that evidence is missing because of it.
_SENTENCES: tuple[tuple[str, str, Severity], ...] = (
    (r"NVIDIA-SMI has failed because", "driver_not_loaded", "error"),
    (r"Make sure that the latest NVIDIA driver", "driver_not_loaded", "error"),
    (r"Failed to initialize NVML", "nvml_not_initialized", "error"),
    (r"NVML library version:", "nvml_not_initialized", "error"),
    (r"No devices were found", "no_devices_found", "error"),
    (r"Field \".*\" is not a valid field to query", "invalid_field", "error"),
    (r"Unable to determine the device handle", "device_unreachable", "error"),
    (r"Invalid combination of input arguments", "invalid_arguments", "error"),
    (r"WARNING: infoROM is corrupted", "inforom_corrupted", "warning"),
    (r"No MIG-enabled devices found", "no_mig_devices", "warning"),
    (r"Nvlink queries are not supported", "not_supported", "warning"),
    (r"NVML: Unable to retrieve", "nvml_error", "error"),
    (r"Insufficient Permissions", "insufficient_permissions", "error"),
    (r"(.*: )?(line \d+: )?nvidia-smi: (command )?not found", "tool_not_found", "error"),
    (r"(.*: )?nvidia-smi: command not found", "tool_not_found", "error"),
)
_DIAGNOSTICS = tuple((re.compile(pattern, re.IGNORECASE), code, severity) for pattern, code, severity in _SENTENCES)


def diagnostic(text: str, line: int) -> Issue | None:
    """The remark for a sentence that nvidia-smi is known to print in place of data, or None."""
    stripped = text.strip()
    for pattern, code, severity in _DIAGNOSTICS:
        if pattern.match(stripped):
            shown = stripped[:200]
            return Issue(severity, code, f"nvidia-smi said {shown!r} where a row was expected", line)
    return None


_SILENT = {"absent", "capture_line", "subject", "status_reason"}
"""Columns whose NULL needs no reason."""


def rows_table(schema: pa.Schema, rows: list[dict[str, Any]]) -> pa.Table:
    """Make a table of rows; a column that a row does not name is NULL, and absent says not_recorded.

    A row's `why` gives other reasons, by column.
    """
    import pyarrow as pa

    columns = {name: [row.get(name) for row in rows] for name in schema.names}
    spoken = sorted(set(schema.names) - _SILENT)
    texts: dict[tuple[str, ...], str | None] = {}
    columns["absent"] = []
    for at, row in enumerate(rows):
        why = row.get("why") or {}
        pairs = tuple(f"{name}={why.get(name, 'not_recorded')}" for name in spoken if columns[name][at] is None)
        columns["absent"].append(texts.setdefault(pairs, " ".join(pairs) or None))
    arrays = []
    for known in schema:
        kind = known.type.value_type if pa.types.is_dictionary(known.type) else known.type
        array = pa.array(columns[known.name], kind)
        arrays.append(array if kind is known.type else array.dictionary_encode().cast(known.type))
    return pa.Table.from_arrays(arrays, schema=schema)
